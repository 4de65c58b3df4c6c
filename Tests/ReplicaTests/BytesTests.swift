import Foundation
import Glibc
import Model
import Programs
import Linux
import Testing

@testable import Replica

/// Downloads, evictions and changes of bytes.
@Suite struct BytesTests {
    @Test func `a placeholder is a property list that Python reads`() async throws {
        let lab = try Lab()
        let inode = try lab.insertRemote("Lesson 1 é.pdf", size: 206_739)
        try lab.replica.writePlaceholders(in: .root)
        let path = lab.files(".Lesson 1 é.pdf.icloud")
        let script = """
            import plistlib, sys
            raw = open(sys.argv[1], 'rb').read()
            assert raw.startswith(b'bplist00') and len(raw) < 512, len(raw)
            p = plistlib.loads(raw)
            print(p['NSURLNameKey'], p['NSURLFileSizeKey'], p['NSURLFileResourceTypeKey'], p['DewpointItemID'],
                  p['DewpointModified'], p['DewpointMode'], sep='|')
            """
        let output = try await Program.run(["python3", "-c", script, path])
        let item = try #require(try lab.replica.read { try $0.entries(of: inode).first?.item })
        let expected = "Lesson 1 é.pdf|206739|NSURLFileResourceTypeRegular|\(item)|1600000000123456789|420\n"
        #expect(output == expected)
    }

    @Test func `a file that is not local reports its full size and few blocks`() throws {
        let lab = try Lab()
        let inode = try lab.insertRemote("r", size: 5 << 30)
        let attributes = try lab.replica.read { try $0.attributes(of: inode) }
        #expect(attributes.size == 5 << 30)
        #expect((1...8).contains(attributes.blocks))
        #expect(attributes.owner == getuid())
        #expect(throws: FileError(.notLocal, "#2 is not local")) { try lab.replica.openBytes(of: inode) }
        #expect(try lab.replica.read { try $0.outbox.count() } == 0)
        #expect(try lab.replica.check() == [])
    }

    /// How a placeholder may have been rewritten, and whether the result still is one.
    @Test(arguments: [("as-it-was", true), ("xml1", true), ("other-keys", false), ("text", false), ("empty", false)])
    func `a download removes only a valid placeholder`(form: String, isPlaceholder: Bool) async throws {
        let lab = try Lab()
        let inode = try lab.insertRemote("r")
        try lab.replica.writePlaceholders(in: .root)
        let path = lab.files(".r.icloud")
        let script = """
            import plistlib, sys
            form, path = sys.argv[1:]
            p = plistlib.load(open(path, 'rb'))
            if form == 'xml1': plistlib.dump(p, open(path, 'wb'))
            if form == 'other-keys': plistlib.dump({'k': 1}, open(path, 'wb'), fmt=plistlib.FMT_BINARY)
            if form == 'text': open(path, 'w').write('mine')
            if form == 'empty': open(path, 'w')
            """
        try await Program.run(["python3", "-c", script, form, path])
        try lab.download(inode, bytes: "12345")
        #expect(lab.exists(".r.icloud") == !isPlaceholder)
        #expect(try String(contentsOfFile: lab.files("r"), encoding: .utf8) == "12345")
    }

    @Test func `a finished download replaces the placeholder`() throws {
        let lab = try Lab()
        let inode = try lab.insertRemote("r")
        try lab.replica.writePlaceholders(in: .root)
        #expect(lab.exists(".r.icloud"))
        try lab.replica.change { try $0.downloads.setRequested(true, of: inode) }
        #expect(try lab.replica.read { try $0.requestedDownloads() } == [inode])
        #expect(try lab.download(inode, bytes: "12345") == inode)
        #expect(!lab.exists(".r.icloud"))
        #expect(try String(contentsOfFile: lab.files("r"), encoding: .utf8) == "12345")
        #expect(try lab.replica.read { try $0.requestedDownloads() } == [])
        let attributes = try lab.replica.read { try $0.attributes(of: inode) }
        #expect(attributes.modified == Timestamp(rawValue: 1_600_000_000_123_456_789))
        #expect(try lab.replica.read { try $0.inode(inode).isLocal })
        #expect(throws: FileError(.invalid, "#2 is local")) {
            try lab.replica.change { try $0.downloads.begin(of: inode) }
        }
        #expect(try lab.replica.check() == [])
        try lab.killAndOpen()
        #expect(lab.replica.repairReport.lines == [])
    }

    @Test func `a download resumes after a restart and after a kill`() throws {
        let lab = try Lab()
        let inode = try lab.insertRemote("r", size: 3 << 20)
        let staging = try lab.replica.change { try $0.downloads.begin(of: inode) }
        #expect(staging.have.count == 3)
        #expect(pwrite(staging.descriptor.rawValue, "abc", 3, 1 << 20) == 3)
        var have = staging.have
        have.insert(1)
        try lab.replica.change { try $0.downloads.saveProgress(of: inode, have: have) }
        try lab.restart()
        #expect(try lab.replica.change { try $0.downloads.begin(of: inode).have } == have)
        try lab.killAndOpen()
        let resumed = try lab.replica.change { try $0.downloads.begin(of: inode) }
        #expect(resumed.have == have)
        var bytes = [UInt8](repeating: 0, count: 3)
        #expect(pread(resumed.descriptor.rawValue, &bytes, 3, 1 << 20) == 3)
        #expect(bytes == Array("abc".utf8))
        // After a power failure, no chunk of an unfinished download is trusted.
        try lab.losePowerAndOpen()
        #expect(try lab.replica.change { try $0.downloads.begin(of: inode).have.presentCount } == 0)
        try lab.replica.change(freeing: true) { try $0.downloads.discard(of: inode) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: "\(lab.path)/staging/downloads") == [])
        let refusal = FileError(.superseded, "no download of #2 is under way")
        #expect(throws: refusal) { try lab.replica.change { try $0.downloads.saveProgress(of: inode, have: have) } }
    }

    @Test func `the next pack is that of the next file to become known that is not local`() throws {
        let lab = try Lab()
        let inodes = try ["a", "b", "c", "d"].map { try lab.insertRemote($0) }
        func pack(_ index: Int) throws -> PackID {
            try #require(try lab.replica.read { try $0.inode(inodes[index]).content?.pieces.first?.stored?.pack })
        }
        for index in 0..<3 {
            let own = try pack(index)
            let next = try lab.replica.read { try $0.nextPack(after: own, from: inodes[index]) }
            #expect(next == (try pack(index + 1)))
        }
        let last = try pack(3)
        #expect(try lab.replica.read { try $0.nextPack(after: last, from: inodes[3]) } == nil)
        // A local file is skipped.
        _ = try lab.download(inodes[1], bytes: "12345")
        let first = try pack(0)
        let next = try lab.replica.read { try $0.nextPack(after: first, from: inodes[0]) }
        #expect(next == (try pack(2)))
    }

    @Test(arguments: ["link", "unlink", "rename", "chmod"])
    func `a link, unlink, rename or chmod keeps the time of a write not yet in the index`(change: String) throws {
        let lab = try Lab()
        let inode = try lab.makeFile("f", bytes: "hello")
        _ = try lab.replica.change { try $0.link(inode, in: .root, as: try ItemName("g")) }
        let old = try lab.replica.read { try $0.attributes(of: inode).modified }
        let descriptor = try lab.replica.openBytes(of: inode)
        #expect(pwrite(descriptor.rawValue, "HELLO", 5, 0) == 5)
        let written = Timestamp(rawValue: old.rawValue + 5_000_000_000)
        try descriptor.setTimes(modified: written)
        switch change {
        case "link": _ = try lab.replica.change { try $0.link(inode, in: .root, as: try ItemName("h")) }
        case "unlink": _ = try lab.removeFile(try ItemName("g"), in: .root)
        case "rename":
            _ = try lab.replica.change {
                try $0.rename(try ItemName("g"), in: .root, to: try ItemName("h"), in: .root, mode: .replace)
            }
        default: _ = try lab.replica.change { try $0.setAttributes(of: inode, AttributeChange(mode: 0o600)) }
        }
        #expect(try lab.replica.change { try $0.recordBytes(of: inode, from: descriptor).modified } == written)
    }

    @Test func `a requested download survives the removal of one of the file's names`() throws {
        let lab = try Lab()
        let inode = try lab.insertRemote("r")
        try lab.replica.change { try $0.downloads.setRequested(true, of: inode) }
        _ = try lab.replica.change { try $0.link(inode, in: .root, as: try ItemName("other")) }
        _ = try lab.removeFile(try ItemName("r"), in: .root)
        #expect(try lab.replica.read { try $0.requestedDownloads() } == [inode])
    }

    @Test(arguments: [RenameMode.exchange, .replace])
    func `a failed download is retried under the file's new name`(_ mode: RenameMode) throws {
        let lab = try Lab()
        let inode = try lab.insertRemote("r")
        try lab.makeFile("other", bytes: "other")
        try lab.uploadAll()
        try lab.replica.change { try $0.downloads.setRequested(true, of: inode) }
        try lab.replica.change { try $0.setError(ItemFault(code: 4355, text: "no network"), of: inode) }
        _ = try lab.replica.change {
            try $0.rename(try ItemName("r"), in: .root, to: try ItemName("other"), in: .root, mode: mode)
        }
        #expect(try lab.replica.read { try $0.requestedDownloads(failedWith: [4355]) } == [inode])
        #expect(try lab.inode("other") == inode)
        if mode == .exchange {
            #expect(try lab.replica.read { try $0.existingEntry(try ItemName("r"), in: .root).error } == nil)
        }
    }

    @Test func `incoming bytes are requested again after a kill during an eviction`() throws {
        let lab = try Lab()
        let inode = try lab.insertRemote("r")
        try lab.download(inode, bytes: "12345")
        let entry = try lab.replica.read { try $0.existingEntry(try ItemName("r"), in: .root) }
        let content = Lab.content(size: 9)
        let record = try lab.record("r", size: 9, content: content, id: try #require(entry.item))
        try lab.replica.change { transaction in
            _ = try transaction.setContent(entry, content: content, modified: record.modified, inUse: true)
        }
        try lab.replica.change { try $0.downloads.setRequested(false, of: inode) }
        try lab.killAndOpen()
        #expect(try lab.replica.read { try $0.requestedDownloads() } == [inode])
    }

    @Test func `finishing a download of superseded bytes is refused`() throws {
        let lab = try Lab()
        let inode = try lab.insertRemote("r")
        _ = try lab.replica.change { try $0.downloads.begin(of: inode) }
        let entry = try lab.replica.read { try $0.existingEntry(try ItemName("r"), in: .root) }
        let content = Lab.content(size: 9)
        let record = try lab.record("r", size: 9, content: content, id: try #require(entry.item))
        try lab.replica.change { transaction in
            _ = try transaction.setContent(entry, content: content, modified: record.modified, inUse: false)
        }
        let refusal = FileError(.superseded, "#2 has changed since its download began")
        #expect(throws: refusal) { try lab.replica.change { try $0.downloads.finish(of: inode) } }
        #expect(try lab.replica.read { try $0.attributes(of: inode).size } == 9)
    }

    @Test func `an unlinked file that is still open can be downloaded`() throws {
        let lab = try Lab()
        let inode = try lab.insertRemote("r")
        _ = try lab.removeFile(try ItemName("r"), in: .root)
        #expect(try lab.download(inode, bytes: "12345") == inode)
        #expect(try lab.bytes(of: inode) == "12345")
        try lab.forget(inode)
        #expect(try FileManager.default.contentsOfDirectory(atPath: "\(lab.path)/staging/removed") == [])
        #expect(try lab.replica.check() == [])
    }

    @Test func `an evicted file becomes a placeholder and can be downloaded again`() throws {
        let lab = try Lab()
        let d = try lab.makeDirectory("d")
        let inode = try lab.makeFile("a", in: d)
        try lab.uploadAll()
        try lab.evict(inode, generation: try lab.replica.read { try $0.inode(inode).generation })
        #expect(!lab.exists("d/a") && lab.exists("d/.a.icloud"))
        #expect(try lab.replica.read { try $0.attributes(of: inode).size } == 5)
        #expect(try lab.replica.read { try $0.outbox.count() } == 0)
        #expect(try lab.replica.check() == [])
        #expect(try FileManager.default.contentsOfDirectory(atPath: "\(lab.path)/staging/removed") == [])
        try lab.download(inode, bytes: "hello")
        #expect(try lab.bytes(of: inode) == "hello")
        let totals = try lab.replica.read { try $0.totals() }
        #expect(totals.itemCount == 2 && totals.localFileCount == 1 && totals.localByteCount == 5)
    }

    @Test func `a file with changes that are not in the container is not evicted`() throws {
        let lab = try Lab()
        let inode = try lab.makeFile("a")
        func evict(_ generation: Int64? = nil) throws {
            try lab.evict(
                inode, generation: try generation ?? lab.replica.read { try $0.inode(inode).generation })
        }
        #expect(throws: FileError(.busy, "#2 has changes that are not in the container")) { try evict() }
        try lab.uploadAll()
        #expect(throws: FileError(.busy, "#2 has changes that are not in the container")) { try evict(0) }
        _ = try lab.replica.change { try $0.setAttributes(of: inode, AttributeChange(mode: 0o600)) }
        #expect(throws: FileError(.busy, "a change of a is not in the container yet")) { try evict() }
        try lab.uploadAll()
        try lab.replica.change { try $0.markModified(inode) }
        #expect(throws: FileError(.busy, "#2 has changes that are not in the container")) { try evict() }
        try lab.uploadAll()
        _ = try lab.replica.change { try $0.link(inode, in: .root, as: try ItemName("b")) }
        #expect(throws: FileError(.busy, "#2 is not in the container")) { try evict() }
        try lab.uploadAll()
        try evict()
        #expect(try !lab.replica.read { try $0.isLocal(inode) })
        let local = try lab.makeFile("a.nosync")
        #expect(throws: FileError(.busy, "#3 has changes that are not in the container")) {
            try lab.evict(local, generation: try lab.replica.read { try $0.inode(local).generation })
        }
        #expect(try lab.bytes(of: local) == "hello")
    }

    @Test func `a download of incoming bytes creates a new inode, and open handles keep the old bytes`() throws {
        let lab = try Lab()
        let inode = try lab.insertRemote("r")
        try lab.download(inode, bytes: "12345")
        let old = try lab.replica.openBytes(of: inode)
        let entry = try lab.replica.read { try $0.existingEntry(try ItemName("r"), in: .root) }
        let content = Lab.content(size: 7)
        let record = try lab.record(
            "r", size: 7, content: content, id: try #require(entry.item), modified: Timestamp(rawValue: 42))
        try lab.replica.change { transaction in
            let same = try transaction.setContent(entry, content: content, modified: record.modified, inUse: true)
            #expect(same == inode)
            try transaction.setMetadata(same, from: record)
            try transaction.setBase(entry, record: record, number: 8)
        }
        #expect(try lab.replica.read { try $0.inode(inode).incoming } == content)
        #expect(try lab.bytes(of: inode) == "12345")
        let new = try lab.download(inode, bytes: "1234567")
        #expect(new != inode)
        #expect(try lab.inode("r") == new)
        #expect(try lab.bytes(of: new) == "1234567")
        #expect(try lab.replica.read { try $0.attributes(of: new).modified } == Timestamp(rawValue: 42))
        var bytes = [UInt8](repeating: 0, count: 5)
        #expect(pread(old.rawValue, &bytes, 5, 0) == 5)
        #expect(bytes == Array("12345".utf8))
        #expect(try lab.bytes(of: inode) == "12345")
        try lab.forget(inode)
        #expect(try lab.replica.check() == [])
    }

    @Test func `truncating a placeholder needs no download and cancels one in progress`() throws {
        let lab = try Lab()
        let inode = try lab.insertRemote("r")
        _ = try lab.replica.change { try $0.link(inode, in: .root, as: try ItemName("s")) }
        _ = try lab.replica.change { try $0.downloads.begin(of: inode) }
        let descriptor = try lab.replica.change { try $0.replaceWithEmpty(inode) }
        #expect(try lab.replica.read { try $0.attributes(of: inode).size } == 0)
        try lab.write("mine", to: inode, descriptor)
        #expect(try lab.bytes(of: try lab.inode("s")) == "mine")
        #expect(try lab.pendingNames().sorted() == ["r", "s"])
        let refusal = FileError(.superseded, "#2 has changed since its download began")
        #expect(throws: refusal) { try lab.replica.change { try $0.downloads.finish(of: inode) } }
        #expect(throws: FileError(.invalid, "#2 is local")) {
            try lab.replica.change { try $0.replaceWithEmpty(inode) }
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: "\(lab.path)/staging/downloads") == [])
        #expect(try lab.replica.check() == [])
    }

    @Test func `a placeholder follows its file when the file is renamed, moved or removed`() throws {
        let lab = try Lab()
        let d = try lab.makeDirectory("d")
        try lab.insertRemote("r")
        try lab.replica.writePlaceholders(in: .root)
        try lab.replica.writePlaceholders(in: d)
        _ = try lab.replica.change {
            try $0.rename(try ItemName("r"), in: .root, to: try ItemName("s"), in: d, mode: .replace)
        }
        #expect(!lab.exists(".r.icloud") && lab.exists("d/.s.icloud"))
        try lab.insertRemote("new", in: .root)
        #expect(lab.exists(".new.icloud"))
        _ = try lab.replica.change { try $0.setAttributes(of: $0.rows.resolve("new"), AttributeChange(mode: 0o640)) }
        #expect(try lab.replica.check() == [])
        _ = try lab.removeFile(try ItemName("s"), in: d)
        #expect(!lab.exists("d/.s.icloud"))
        _ = try lab.removeDirectory(try ItemName("d"), in: .root)
        #expect(!lab.exists("d"))
        #expect(try lab.replica.check() == [])
    }

    @Test func `all placeholders of a large directory are written`() throws {
        let lab = try Lab()
        let d = try lab.makeDirectory("d")
        try lab.uploadAll()
        for number in 0..<600 { try lab.insertRemote("f\(number)", in: d) }
        try lab.replica.writePlaceholders(in: d)
        #expect(try FileManager.default.contentsOfDirectory(atPath: lab.files("d")).count == 600)
        #expect(try lab.replica.check() == [])
    }

    @Test func `a write that bypassed markModified is recorded as a modification`() throws {
        let lab = try Lab()
        let inode = try lab.makeFile("a")
        try lab.uploadAll()
        let descriptor = try lab.replica.openBytes(of: inode)
        try lab.replica.change { try $0.recordBytes(of: inode, from: descriptor) }
        #expect(try lab.replica.read { try $0.outbox.count() } == 0)
        #expect(pwrite(descriptor.rawValue, "longer than before", 18, 0) == 18)
        try lab.replica.change { try $0.recordBytes(of: inode, from: descriptor) }
        #expect(try lab.replica.read { try $0.inode(inode).isModified })
        #expect(try lab.pendingNames() == ["a"])
    }

    /// Writes through a mapping of the backing file (pass-through) are not announced.
    @Test func `a write that bypassed markModified during an upload keeps the file queued`() throws {
        let lab = try Lab()
        let inode = try lab.makeFile("a")
        let descriptor = try lab.replica.openBytes(of: inode)
        try lab.uploadBatch {
            #expect(pwrite(descriptor.rawValue, "longer than before", 18, 0) == 18)
            try lab.replica.change { try $0.recordBytes(of: inode, from: descriptor) }
        }
        #expect(try lab.replica.read { try $0.inode(inode).isModified })
        #expect(try lab.pendingNames() == ["a"])
        #expect(try lab.replica.check() == [])
    }

    @Test func `a full disk is reported, and no acknowledged change is lost`() throws {
        let mount = "\(NSTemporaryDirectory())/replica-small-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: mount, withIntermediateDirectories: true)
        defer { rmdir(mount) }
        // Only root can mount; elsewhere there is nothing to test.
        guard Glibc.mount("tmpfs", mount, "tmpfs", 0, "size=3m,mode=700") == 0 else { return }
        defer { umount2(mount, 2) }
        let container = Lab.container()
        let environment = ReplicaEnvironment(
            now: { Timestamp(rawValue: 1) }, makeItemID: { ItemID(uuid: UUID()) }, owner: 0, group: 0)
        let replica = try Replica.open("\(mount)/state", container: container, environment: environment)
        var made = 0
        var failure: FileError?
        for number in 0..<100_000 where failure == nil {
            do throws(FileError) {
                _ = try replica.createFile(NewItem(.file, mode: 0o644), as: try ItemName("f\(number)"), in: .root)
                made += 1
            } catch { failure = error }
        }
        #expect(failure?.code == .diskFull)
        #expect(made > 40)
        #expect(try replica.read { try $0.children(of: .root, after: nil, limit: 1_000_000).count } == made)
        #expect(try replica.check() == [])
        replica.abandon()
        // With more space, every acknowledged change is still there.
        #expect(Glibc.mount("tmpfs", mount, "tmpfs", 32, "size=8m") == 0)
        let again = try Replica.open("\(mount)/state", container: container, environment: environment)
        #expect(try again.read { try $0.children(of: .root, after: nil, limit: 1_000_000).count } == made)
        #expect(try again.check() == [])
        _ = try again.createFile(NewItem(.file, mode: 0o644), as: try ItemName("more"), in: .root)
        again.abandon()
    }

    @Test func `files can still be removed on a full disk`() throws {
        let mount = "\(NSTemporaryDirectory())/replica-small-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: mount, withIntermediateDirectories: true)
        defer { rmdir(mount) }
        // Only root can mount; elsewhere there is nothing to test.
        guard Glibc.mount("tmpfs", mount, "tmpfs", 0, "size=12m,mode=700") == 0 else { return }
        defer { umount2(mount, 2) }
        let environment = ReplicaEnvironment(
            now: { Timestamp(rawValue: 1) }, makeItemID: { ItemID(uuid: UUID()) }, owner: 0, group: 0)
        let replica = try Replica.open("\(mount)/state", container: Lab.container(), environment: environment)
        defer { replica.abandon() }
        for number in 0..<40 {
            _ = try replica.createFile(NewItem(.file, mode: 0o644), as: try ItemName("f\(number)"), in: .root)
        }
        // Another file takes up the remaining space.
        let filler = open("\(mount)/filler", O_WRONLY | O_CREAT, 0o600)
        let block = [UInt8](repeating: 1, count: 4096)
        while Glibc.write(filler, block, block.count) == block.count {}
        close(filler)
        for number in 0..<40 {
            let removed = try replica.change(freeing: true) { try $0.removeFile(try ItemName("f\(number)"), in: .root) }
            try replica.change(freeing: true) { try $0.forget(removed.inode) }
        }
        #expect(try replica.read { try $0.children(of: .root, after: nil, limit: 9).isEmpty })
        #expect(try replica.check() == [])
    }
}
