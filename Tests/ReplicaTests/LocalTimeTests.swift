import Model
import Testing

@testable import Replica

/// The modification time of a local file while newer bytes of it are to come.
@Suite struct LocalTimeTests {
    /// A local file of which newer bytes, made at 42 ns, are known but not downloaded.
    private func outdated(_ lab: Lab) throws -> (inode: InodeNumber, modified: Timestamp) {
        let inode = try lab.insertRemote("r")
        try lab.download(inode, bytes: "12345")
        let entry = try lab.replica.read { try $0.existingEntry(try ItemName("r"), in: .root) }
        let before = try lab.replica.read { try $0.attributes(of: inode) }
        let content = Lab.content(size: 7)
        let record = try lab.record(
            "r", size: 7, content: content, id: try #require(entry.item), modified: Timestamp(rawValue: 42))
        try lab.replica.change { transaction in
            let same = try transaction.setContent(entry, content: content, modified: record.modified, inUse: false)
            try transaction.setMetadata(same, from: record)
            try transaction.setBase(entry, record: record, number: 8)
        }
        return (inode, before.modified)
    }

    @Test func `local bytes keep their time until newer ones take their place`() throws {
        let lab = try Lab()
        let (inode, before) = try outdated(lab)
        let attributes = try lab.replica.read { try $0.lookup(try ItemName("r"), in: .root) }
        #expect(attributes.size == 5 && attributes.localModified == before)
        #expect(attributes.modified == Timestamp(rawValue: 42))
        #expect(
            try lab.replica.read { try $0.children(of: .root, after: nil, limit: 9) }.map(\.attributes.localModified)
                == [before])
        try lab.killAndOpen()
        #expect(lab.replica.repairReport.lines == [])
        #expect(try lab.replica.read { try $0.attributes(of: inode).localModified } == before)
        let old = try lab.replica.openBytes(of: inode)
        let new = try lab.download(inode, bytes: "1234567")
        let (now, kept) = (
            try lab.replica.read { try $0.attributes(of: new) }, try lab.replica.read { try $0.attributes(of: inode) }
        )
        #expect(now.size == 7 && now.modified == Timestamp(rawValue: 42) && now.localModified == nil)
        // Programs that have the older bytes open.
        #expect(kept.modified == before && kept.localModified == nil)
        _ = consume old
        try lab.forget(inode)
        #expect(try lab.replica.check() == [])
    }

    @Test(arguments: ["touched", "renamed", "evicted"])
    func `a file has one time again when it is touched, moved to another item or evicted`(how: String) throws {
        let lab = try Lab()
        let (inode, before) = try outdated(lab)
        var time = Timestamp(rawValue: 42)
        switch how {
        case "touched":
            time = Timestamp(rawValue: 99)
            let answer = try lab.replica.change { try $0.setAttributes(of: inode, AttributeChange(modified: time)) }
            #expect(answer.localModified == nil && answer.modified == time)
        case "renamed":
            time = before
            try lab.makeFile("s")
            _ = try lab.replica.change {
                try $0.rename(try ItemName("r"), in: .root, to: try ItemName("s"), in: .root, mode: .replace)
            }
        default:
            try lab.evict(inode, generation: try lab.replica.read { try $0.inode(inode).generation })
        }
        let attributes = try lab.replica.read { try $0.attributes(of: inode) }
        #expect(attributes.modified == time && attributes.localModified == nil)
        #expect(attributes.size == (how == "evicted" ? 7 : 5))
        #expect(try lab.replica.check() == [])
        try lab.killAndOpen()
        #expect(try lab.replica.read { try $0.attributes(of: inode).modified } == time)
    }
}
