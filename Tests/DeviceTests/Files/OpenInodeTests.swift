import Glibc
import Model
import Replica
import Linux
import Testing

@testable import FileSystem
@testable import Sync
@testable import Transfer

/// When fdatasync need not sync the index.
@Suite struct OpenInodeTests {
    private let descriptor: Descriptor
    private let inode: OpenInode

    init() throws {
        var path = Array("/tmp/dewpoint-open-inode-XXXXXX".utf8CString)
        let raw = mkstemp(&path)
        try #require(raw >= 0, "mkstemp: \(errno)")
        unlink(path)
        descriptor = Descriptor(owning: raw)
        inode = OpenInode(
            number: InodeNumber(rawValue: 2), descriptor: descriptor, access: .direct,
            opener: Caller(thread: 1, user: 0, group: 0))
    }

    private func write(_ text: String, marks: inout Int) throws {
        _ = try inode.beginWrite { () throws(FileError) in marks += 1 }
        try descriptor.write(Array(text.utf8), at: 0)
        inode.finishWrite(at: .zero)
    }

    private func record() throws {
        guard let (descriptor, change) = inode.unrecorded else { return }
        inode.noteRecorded(try BackingStatus(of: descriptor), change: change)
    }

    @Test func `only the bytes need a sync once the durable index has their size and counts them as modified`()
        throws
    {
        var marks = 0
        try write("bytes", marks: &marks)
        #expect(inode.recordedBytes == nil, "the index does not know this size")
        try record()
        #expect(!inode.isDurable(size: 5), "the index was not synced")
        inode.noteDurable(try #require(inode.recordedBytes))
        #expect(inode.isDurable(size: 5))
        try write("BYTES", marks: &marks)
        #expect(inode.isDurable(size: 5))
        #expect(!inode.isDurable(size: 6))
        #expect(marks == 1)
    }

    @Test func `an inode does not count as durable if an upload begins while the index is synced`() throws {
        var marks = 0
        try write("bytes", marks: &marks)
        try record()
        let recorded = try #require(inode.recordedBytes)
        #expect(inode.beginUpload(uptime: .seconds(60), quiet: .seconds(1)))
        inode.noteDurable(recorded)
        #expect(!inode.isDurable(size: 5))
        try write("BYTES", marks: &marks)
        inode.noteDurable(recorded)
        #expect(!inode.isDurable(size: 5), "the mark of this write may be in the memory only")
        #expect(marks == 2)
    }

    @Test func `a write since an upload began shows, begun or finished`() throws {
        var marks = 0
        try write("bytes", marks: &marks)
        #expect(inode.beginUpload(uptime: .seconds(60), quiet: .seconds(1)))
        #expect(inode.isUnwritten)
        // The index may state the generation of this write already.
        _ = try inode.beginWrite { () throws(FileError) in
            marks += 1
            #expect(!inode.isUnwritten)
        }
        #expect(!inode.isUnwritten)
        inode.finishWrite(at: .seconds(60))
        #expect(!inode.isUnwritten)
        try write("BYTES", marks: &marks)
        #expect(!inode.isUnwritten && marks == 2, "the second write changes no generation")
        #expect(inode.beginUpload(uptime: .seconds(120), quiet: .seconds(1)))
        #expect(inode.isUnwritten)
    }

    @Test func `an inode no longer counts as durable after an upload, an eviction or a download`() throws {
        let ends: [(OpenInode) -> Void] = [
            { _ = $0.beginUpload(uptime: .seconds(60), quiet: .seconds(1)) },
            { $0.evicted() },
            { $0.becamePlaceholder() },
            { [descriptor] in $0.arrived(descriptor) },
        ]
        for end in ends {
            var marks = 0
            inode.arrived(descriptor)
            _ = inode.beginUpload(uptime: .seconds(60), quiet: .seconds(1))
            try write("bytes", marks: &marks)
            try record()
            inode.noteDurable(try #require(inode.recordedBytes))
            #expect(inode.isDurable(size: 5))
            end(inode)
            #expect(!inode.isDurable(size: 5))
        }
    }
}
