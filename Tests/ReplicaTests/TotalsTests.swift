import Foundation
import GRDB
import Model
import Testing

@testable import Replica

/// Counts over all items, which triggers keep.
@Suite struct TotalsTests {
    /// The same counts, made by reading every row.
    private func recount(_ lab: Lab) throws -> [Int64] {
        try lab.replica.read { rows in
            try rows.first(
                """
                SELECT (SELECT count(*) FROM entries), count(*), coalesce(sum(local), 0), coalesce(sum(size), 0),
                coalesce(sum(local * size), 0) FROM inodes WHERE kind = 0 AND links > 0
                """, []
            ) { row in (0..<5).map { row[$0] as Int64 } } ?? []
        }
    }

    private func expectTotals(_ lab: Lab, _ step: String) throws {
        let totals = try lab.replica.read { try $0.totals() }
        let counts = [
            Int64(totals.itemCount), Int64(totals.fileCount), Int64(totals.localFileCount), totals.byteCount,
            totals.localByteCount,
        ]
        #expect(try counts == recount(lab), "after \(step)")
        var cursor = try lab.replica.read { try $0.totalsCursor(of: .root, active: []) }
        while !cursor.isAtEnd { try lab.replica.read { try $0.countMore(&cursor) } }
        // A walk does not come to deletions in deleted directories.
        var walked = cursor.totals
        walked.uploads = totals.uploads
        #expect(walked == totals, "walking, after \(step)")
    }

    @Test func `the totals agree with a recount after changes of every kind`() throws {
        let lab = try Lab()
        try expectTotals(lab, "nothing")
        let directory = try lab.makeDirectory("d")
        let inode = try lab.makeFile("a", in: directory)
        try lab.makeFile("b", bytes: "four")
        try expectTotals(lab, "creating")
        _ = try lab.replica.change { try $0.link(inode, in: .root, as: lab.name("c")) }
        try expectTotals(lab, "linking")
        try lab.uploadAll()
        try expectTotals(lab, "uploading")
        try lab.evict(inode, generation: try lab.replica.read { try $0.inode(inode).generation })
        try expectTotals(lab, "evicting")
        try lab.replica.change { try $0.downloads.setRequested(true, of: inode) }
        try lab.replica.change { try $0.setError(ItemFault(code: 4355, text: "no answer"), of: inode) }
        try expectTotals(lab, "requesting")
        #expect(try lab.replica.read { try $0.totals().downloads.pendingCount } == 1)
        #expect(try lab.replica.read { try $0.totals().errorCount } == 2, "one for each name")
        try lab.download(inode, bytes: "hello")
        try expectTotals(lab, "downloading")
        _ = try lab.replica.change {
            try $0.rename(lab.name("a"), in: directory, to: lab.name("b"), in: .root, mode: .replace)
        }
        try expectTotals(lab, "replacing")
        _ = try lab.removeFile(lab.name("c"), in: .root)
        _ = try lab.removeFile(lab.name("b"), in: .root)
        try expectTotals(lab, "removing the last name")
        #expect(try lab.replica.read { try $0.totals().fileCount } == 0)
        try lab.forget(inode)
        _ = try lab.removeDirectory(lab.name("d"), in: .root)
        try lab.insertRemote("remote", size: 7)
        try expectTotals(lab, "another device's file")
        #expect(try lab.replica.read { try $0.totals().localItemCount } == 0)
        try lab.killAndOpen()
        try expectTotals(lab, "a crash")
    }

    @Test func `the totals of an index of an earlier version are counted once`() throws {
        let lab = try Lab()
        try lab.makeFile("a")
        try lab.insertRemote("b", size: 7)
        try lab.replica.close()
        let index = try DatabaseQueue(path: "\(lab.path)/index.sqlite")
        try index.write { database in
            for name in ["item_added", "item_removed", "file_added", "file_removed", "file_changed"] {
                try database.execute(sql: "DROP TRIGGER totals_\(name)")
            }
            try database.execute(sql: "DROP TABLE totals")
            for name in ["conflicts", "errors"] { try database.execute(sql: "DROP INDEX entries_\(name)") }
            try database.execute(sql: "DELETE FROM grdb_migrations WHERE identifier = 'v10'")
        }
        try index.close()
        try lab.open()
        try expectTotals(lab, "the migration")
        let totals = try lab.replica.read { try $0.totals() }
        #expect(totals.itemCount == 2 && totals.byteCount == 12 && totals.localByteCount == 5)
    }

    @Test func `the totals of 100,000 items take no walk`() throws {
        let lab = try Lab()
        try lab.replica.change { transaction in
            try translated {
                try transaction.rows.execute(
                    """
                    WITH RECURSIVE n(n) AS (VALUES(1000) UNION ALL SELECT n + 1 FROM n WHERE n < 100999)
                    INSERT INTO inodes(id, kind, mode, owner, grp, links, size, blocks, accessed, modified, changed, device,
                        local, dirty, generation)
                    SELECT n, 0, 420, 0, 0, 1, 10, 0, 0, 0, 0, 0, n % 2, 0, 0 FROM n
                    """)
                try transaction.rows.execute(
                    "INSERT INTO entries(parent, name, inode) SELECT 1, 'file ' || id, id FROM inodes WHERE id >= 1000")
            }
        }
        var best = Duration.seconds(60)
        for _ in 0..<5 {
            let start = ContinuousClock.now
            let totals = try lab.replica.read { try $0.totals() }
            best = min(best, ContinuousClock.now - start)
            #expect(totals.itemCount == 100_000 && totals.localFileCount == 50_000 && totals.byteCount == 1_000_000)
        }
        // A walk takes some 50 ms; this takes a tenth of a millisecond.
        #expect(best < .milliseconds(10), "\(best)")
        print("totals of 100,000 items: \(best)")
    }

    @Test func `changes that wait are listed with their paths, deletions too`() throws {
        let lab = try Lab()
        let directory = try lab.makeDirectory("d")
        try lab.makeFile("old", in: directory)
        try lab.uploadAll()
        _ = try lab.removeFile(lab.name("old"), in: directory)
        try lab.makeFile("new", in: directory)
        try lab.replica.change { try $0.setPaused(true, of: directory) }
        let waiting = try lab.replica.read { try $0.outbox.waitingUploads(limit: 10) }
        #expect(waiting.map(\.path) == ["d/old", "d", "d/new"], "the directory has a new time")
        #expect(waiting.map(\.isDeletion) == [true, false, false])
        #expect(waiting.map(\.byteCount) == [0, 0, 5])
        #expect(waiting.map(\.isPaused) == [true, true, true])
        #expect(try lab.replica.read { try $0.outbox.waitingUploads(limit: 1) }.map(\.path) == ["d/old"])
    }

    @Test func `the time of the newest commit is that at which it was made, and never one to come`() throws {
        let lab = try Lab()
        #expect(try lab.replica.read { try $0.lastCommitTime() } == nil)
        try lab.replica.change { try $0.setApplied(3, time: Timestamp(rawValue: 12)) }
        try lab.restart()
        #expect(try lab.replica.read { try $0.lastCommitTime() } == Timestamp(rawValue: 12))
        let now = try lab.replica.change { transaction in
            try transaction.setApplied(4, time: Timestamp(rawValue: .max))
            return transaction.now
        }
        #expect(try lab.replica.read { try $0.lastCommitTime() } == now)
        try lab.replica.change { try $0.setApplied(5) }
        #expect(try lab.replica.read { try $0.lastCommitTime() } == nil)
    }
}
