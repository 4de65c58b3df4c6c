import GRDB
import Model
import Testing

@testable import Replica

@Suite struct LastUseTests {
    @Test func `local files are listed by their last use, in batches`() throws {
        let lab = try Lab()
        let away = try lab.insertRemote("away")
        let files = try ["a", "b", "c"].map { try lab.makeFile($0) }
        let times = [30, 10, 20].map { Timestamp(seconds: 4_000_000_000 + $0, nanoseconds: 0) }
        try lab.replica.change {
            try $0.note(uses: Dictionary(uniqueKeysWithValues: zip(files, times) + [(away, times[0])]))
        }
        let all = try lab.replica.read { try $0.heldFiles(after: nil, limit: 10) }
        #expect(all.map(\.inode) == [files[1], files[2], files[0]])
        #expect(all.map(\.used) == [times[1], times[2], times[0]])
        let first = try lab.replica.read { try $0.heldFiles(after: nil, limit: 2) }
        #expect(first == Array(all[..<2]))
        #expect(try lab.replica.read { try $0.heldFiles(after: first.last, limit: 2) } == [all[2]])
        #expect(try lab.replica.read { try $0.heldFiles(after: all.last, limit: 2) } == [])
    }

    @Test func `a use older than the known one is ignored`() throws {
        let lab = try Lab()
        let file = try lab.makeFile("a")
        let known = try #require(try lab.replica.read { try $0.heldFiles(after: nil, limit: 1).first }).used
        #expect(known > Timestamp(rawValue: 0))
        try lab.replica.change { try $0.note(uses: [file: Timestamp(rawValue: 5), InodeNumber(99999): known]) }
        #expect(try lab.replica.read { try $0.heldFiles(after: nil, limit: 2) }.map(\.used) == [known])
    }

    @Test func `a downloaded file counts as just used, and an evicted one takes up no space`() throws {
        let lab = try Lab()
        let inode = try lab.insertRemote("r")
        #expect(try lab.replica.read { try $0.heldByteCount() } == 0)
        try lab.download(inode, bytes: "hello")
        let held = try #require(try lab.replica.read { try $0.heldFiles(after: nil, limit: 1).first })
        #expect(held.inode == inode && held.used > Timestamp(rawValue: 0))
        #expect(held.byteCount > 0)
        #expect(try lab.replica.read { try $0.heldByteCount() } == held.byteCount)
        try lab.evict(inode, generation: try lab.replica.read { try $0.inode(inode).generation })
        #expect(try lab.replica.read { try $0.heldByteCount() } == 0)
        #expect(try lab.replica.read { try $0.heldFiles(after: nil, limit: 1) } == [])
    }

    @Test func `the sum of blocks is read from a covering index alone`() throws {
        let lab = try Lab()
        let plan = try lab.replica.read { rows in
            try rows.all(
                "EXPLAIN QUERY PLAN SELECT sum(blocks) FROM inodes WHERE local = 1 AND kind = 0", []
            ) { $0[3] as String }
        }
        #expect(plan == ["SCAN inodes USING COVERING INDEX inodes_used"])
    }
}
