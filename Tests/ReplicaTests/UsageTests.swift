import Foundation
import GRDB
import Model
import Testing

@testable import Replica

/// What the container holds, which triggers keep.
@Suite struct UsageTests {
    /// The same sum, made by unpacking every record.
    private func recount(_ lab: Lab) throws -> Int64 {
        try lab.replica.read { rows in
            try rows.all("SELECT base FROM entries WHERE base IS NOT NULL", []) {
                try ItemRecord(packed: $0[0]).usedByteCount
            }.reduce(0, +)
        }
    }

    private func expectUsed(_ byteCount: Int64, _ lab: Lab, _ step: String) throws {
        #expect(try lab.replica.read { try $0.usedByteCount() } == byteCount, "after \(step)")
        #expect(try recount(lab) == byteCount, "counted, after \(step)")
    }

    @Test func `what is used agrees with a recount after changes of every kind`() throws {
        let lab = try Lab()
        try expectUsed(0, lab, "nothing")
        let directory = try lab.makeDirectory("d")
        let inode = try lab.makeFile("a", in: directory)
        try lab.makeFile("b", bytes: "four")
        try expectUsed(0, lab, "creating: nothing is in the container")
        try lab.uploadAll()
        try expectUsed(9, lab, "uploading")
        _ = try lab.replica.change { try $0.link(inode, in: .root, as: lab.name("c")) }
        try lab.uploadAll()
        try expectUsed(14, lab, "another name, which is an item of its own")
        _ = try lab.replica.change {
            try $0.rename(lab.name("c"), in: .root, to: lab.name("e"), in: directory, mode: .replace)
        }
        try expectUsed(14, lab, "moving")
        try lab.insertRemote("remote", size: 7)
        try expectUsed(21, lab, "another device's file")
        _ = try lab.removeFile(lab.name("b"), in: .root)
        try expectUsed(17, lab, "removing")
        #expect(try lab.replica.read { try $0.committedByteCount() } == 21, "until the deletion is uploaded")
        try lab.uploadAll()
        #expect(try lab.replica.read { try $0.committedByteCount() } == 17)
        try lab.replica.change { try $0.setExcluded(true, of: directory) }
        try expectUsed(7, lab, "excluding")
        try lab.killAndOpen()
        try expectUsed(7, lab, "a crash")
    }

    @Test func `what an index of an earlier version holds is counted once`() throws {
        let lab = try Lab()
        try lab.makeFile("a")
        try lab.uploadAll()
        try lab.insertRemote("b", size: 7)
        try lab.replica.close()
        let index = try DatabaseQueue(path: "\(lab.path)/index.sqlite")
        try index.write { database in
            for name in ["added", "removed", "changed"] { try database.execute(sql: "DROP TRIGGER usage_\(name)") }
            try database.execute(sql: "DROP TABLE usage")
            try database.execute(sql: "DELETE FROM grdb_migrations WHERE identifier = 'v12'")
        }
        try index.close()
        try lab.open()
        try expectUsed(12, lab, "the migration")
    }

    @Test func `a packed record counts its bytes and those of its conflict versions`() throws {
        let item = ItemID(uuid: UUID())
        let device = DeviceID(uuid: UUID())
        let chunk = Content.Chunk(hash: ChunkHash(bytes: [UInt8](repeating: 1, count: 32)[...])!, byteCount: 9)
        let content = Content(runs: [
            .zeros(byteCount: 5), .stored(pack: PackID(uuid: UUID()), offset: 3, chunks: [chunk, chunk]),
        ])
        func version(_ size: Int64, _ content: ItemRecord.Reference) -> ConflictVersion {
            ConflictVersion(
                id: UUID(), device: device, deviceName: "Gerät", modified: Timestamp(rawValue: 1), size: size,
                content: content)
        }
        var record = ItemRecord(
            id: item, parent: .root, name: try ItemName("naïve"), kind: .file, mode: 0o644,
            modified: Timestamp(rawValue: 2), size: 23, target: nil, xattrs: ["user.a": Data([1, 2])],
            content: .inline(content), device: device, base: 4)
        #expect(try ItemRecord.usedByteCount(packed: record.packed) == 23)
        let hash = ChunkHash(bytes: [UInt8](repeating: 2, count: 32)[...])!
        record.conflicts = [version(100, .inline(content)), version(1000, .manifest(hash))]
        #expect(try ItemRecord.usedByteCount(packed: record.packed) == 1123)
        record.conflicts.append(version(.max, .manifest(hash)))
        #expect(try ItemRecord.usedByteCount(packed: record.packed) == .max)
        #expect(record.usedByteCount == .max)
        #expect(throws: PackedReader.damaged) { try ItemRecord.usedByteCount(packed: record.packed.dropLast()) }
        record.kind = .directory
        #expect(try ItemRecord.usedByteCount(packed: record.packed) == 0)
    }

    @Test func `the quota is known after a restart, also that there is none`() throws {
        var container = Lab.container()
        container.settings.quota = ContainerQuota(byteCount: 5)
        let lab = try Lab(container: container)
        #expect(lab.replica.quota?.byteCount == 5)
        #expect(try lab.replica.setQuota(ContainerQuota(byteCount: 6)))
        #expect(try !lab.replica.setQuota(ContainerQuota(byteCount: 6)))
        try lab.restart()
        #expect(lab.replica.quota?.byteCount == 6)
        #expect(try lab.replica.setQuota(nil))
        try lab.restart()
        #expect(lab.replica.quota == nil)
    }
}
