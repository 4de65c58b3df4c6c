import Glibc
import Linux
import Model
import Testing

@testable import Replica

/// Bytes that changed without notice, through a mapping that the kernel passed to the backing file: nothing hides that.
@Suite struct UnnoticedBytesTests {
    private let lab: Lab
    private let inode: InodeNumber

    init() throws {
        lab = try Lab()
        inode = try lab.makeFile("a")
        try lab.uploadAll()
        #expect(try !lab.replica.read { try $0.inode(inode).isModified })
    }

    /// Stores into the file as through a mapping: only the file's times show it.
    private func store(_ text: String = "HELLO") throws {
        let descriptor = try lab.replica.openBytes(of: inode)
        #expect(pwrite(descriptor.rawValue, text, text.utf8.count, 0) == text.utf8.count)
    }

    private var refusal: FileError { FileError(.busy, "\(inode) has changes that are not in the container") }

    @Test(arguments: ["to a time", "to now"])
    func `setting the modification time does not hide changed bytes`(how: String) throws {
        let old = try lab.replica.read { try $0.attributes(of: inode).modified }
        try store()
        var change = AttributeChange(modified: how == "to a time" ? old : nil)
        change.isModifiedNow = how == "to now"
        let attributes = try lab.replica.change { try $0.setAttributes(of: inode, change) }
        #expect(how == "to now" || attributes.modified == old)
        #expect(try lab.replica.read { try $0.inode(inode).isModified })
        let generation = try lab.replica.read { try $0.inode(inode).generation }
        #expect(throws: refusal) { try lab.evict(inode, generation: generation) }
        #expect(try lab.replica.check() == [])
    }

    @Test func `setting the modification time of a file that may be mapped counts as a change of its bytes`() throws {
        let old = try lab.replica.read { try $0.attributes(of: inode).modified }
        _ = try lab.replica.change { try $0.setAttributes(of: inode, AttributeChange(modified: old), isMapped: false) }
        #expect(try !lab.replica.read { try $0.inode(inode).isModified })
        _ = try lab.replica.change { try $0.setAttributes(of: inode, AttributeChange(mode: 0o600), isMapped: true) }
        #expect(try !lab.replica.read { try $0.inode(inode).isModified })
        _ = try lab.replica.change { try $0.setAttributes(of: inode, AttributeChange(modified: old), isMapped: true) }
        #expect(try lab.replica.read { try $0.inode(inode).isModified })
    }

    @Test func `changed bytes are not evicted`() throws {
        let generation = try lab.replica.read { try $0.inode(inode).generation }
        try store()
        #expect(throws: refusal) { try lab.evict(inode, generation: generation) }
        try lab.replica.noticeBytes(of: inode)
        #expect(try lab.replica.read { try $0.inode(inode).isModified })
        #expect(try lab.pendingNames() == ["a"])
        #expect(try lab.bytes(of: inode) == "HELLO")
    }

    @Test func `a download does not replace changed bytes`() throws {
        let entry = try #require(try lab.replica.read { try $0.entries(of: inode).first })
        let newer = Lab.content(size: 9)
        try lab.replica.change { transaction in
            _ = try transaction.setContent(
                entry, content: newer, modified: Timestamp(rawValue: 42), inUse: true)
        }
        let staging = try lab.replica.change { try $0.downloads.begin(of: inode) }
        #expect(pwrite(staging.descriptor.rawValue, "newbytes!", 9, 0) == 9)
        try store()
        #expect(throws: FileError(.superseded, "\(inode) has changed since its download began")) {
            try lab.replica.change { try $0.downloads.finish(of: inode) }
        }
        #expect(try lab.bytes(of: inode) == "HELLO")
    }

    @Test func `looking at unchanged bytes changes nothing`() throws {
        try lab.replica.noticeBytes(of: inode)
        #expect(try !lab.replica.read { try $0.inode(inode).isModified })
        #expect(try lab.replica.read { try $0.outbox.count() } == 0)
    }
}
