import Foundation
import GRDB
import Glibc
import Linux
import Model
import Synchronization
import Testing

@testable import Replica

/// Changes that share a transaction of the index.
@Suite struct ChangeBatchTests {
    private func names(_ lab: Lab) throws -> [String] {
        try lab.replica.look { try $0.children(of: .root, after: nil, limit: 999) }.map(\.name.string).sorted()
    }

    /// What other connections see: without committing.
    private func committedCount(_ lab: Lab) throws -> Int {
        try lab.replica.committedCount("entries")
    }

    @Test func `a change is seen at once, and by other connections after the commit`() throws {
        let lab = try Lab()
        _ = try lab.makeDirectory("a")
        _ = try lab.makeDirectory("b")
        #expect(try names(lab) == ["a", "b"])
        #expect(try committedCount(lab) == 0)
        try lab.replica.commitChanges()
        #expect(try committedCount(lab) == 2)
        #expect(try names(lab) == ["a", "b"])
    }

    @Test func `reading one state, fsync and closing commit first`() throws {
        let lab = try Lab()
        _ = try lab.makeDirectory("a")
        #expect(try lab.replica.read { try $0.count("SELECT count(*) FROM entries") } == 1)
        #expect(try committedCount(lab) == 1)
        _ = try lab.makeDirectory("b")
        try lab.replica.makeDurable()
        #expect(try committedCount(lab) == 2)
        _ = try lab.makeDirectory("c")
        try lab.restart()
        #expect(try committedCount(lab) == 3)
        #expect(lab.replica.repairReport.lines == [])
    }

    @Test func `a batch ends after so many changes`() throws {
        let lab = try Lab()
        for number in 1...ChangeBatch.changeLimit + 1 { _ = try lab.makeDirectory("d\(number)") }
        #expect(try committedCount(lab) == ChangeBatch.changeLimit)
        #expect(try names(lab).count == ChangeBatch.changeLimit + 1)
    }

    @Test func `a change that fails leaves the others of its batch`() throws {
        let lab = try Lab()
        _ = try lab.makeDirectory("a")
        #expect(throws: FileError.self) { _ = try lab.makeDirectory("a") }
        _ = try lab.makeDirectory("b")
        try lab.killAndOpen()
        #expect(try names(lab) == ["a", "b"])
        #expect(try lab.replica.check() == [])
    }

    /// Writes something, and fails.
    private func fail(_ lab: Lab) throws {
        let failure = FileError(.inputOutput, "the disk")
        #expect(throws: failure) {
            try lab.replica.change { transaction in
                let new = NewItem(.directory, mode: 0o755, owner: getuid(), group: getgid())
                _ = try transaction.make(new, as: try ItemName("half"), in: .root)
                throw failure
            }
        }
    }

    @Test func `a change that fails after it has written something is undone, and nothing else of its batch`() throws {
        let lab = try Lab()
        try fail(lab)
        let first = try lab.makeDirectory("a")
        try lab.makeFile("f", bytes: "bytes")
        try fail(lab)
        try fail(lab)
        let second = try lab.makeDirectory("b")
        #expect(try committedCount(lab) == 0)
        #expect(second.rawValue == first.rawValue + 2)
        #expect(try names(lab) == ["a", "b", "f"])
        try fail(lab)
        try lab.killAndOpen()
        #expect(try names(lab) == ["a", "b", "f"])
        #expect(try lab.replica.look { try $0.resolve("b") } == second)
        #expect(lab.replica.repairReport.lines == [])
        #expect(try lab.replica.check() == [])
    }

    @Test func `those who follow the index are told of each change once, also when one of its batch fails`() throws {
        let lab = try Lab()
        let told = Mutex<[IndexChanges]>([])
        lab.replica.deliverChanges { changes in told.withLock { $0.append(changes) } }
        let last = try lab.replica.beginFollowing()
        _ = try lab.makeDirectory("a")
        try fail(lab)
        _ = try lab.makeDirectory("b")
        try lab.replica.commitChanges()
        _ = try lab.makeDirectory("c")
        try fail(lab)
        _ = try lab.makeDirectory("d")
        let changes = told.withLock { $0 }
        #expect(changes.map { $0.places.map { $0.to?.string ?? "" } } == [["a"], ["b"], ["c"], ["d"]])
        #expect(changes.map(\.sequence) == (1...4).map { last + $0 })
    }

    @Test func `after kill -9 all changes are there, also those of names that are not UTF-8 or have quotes`() throws {
        let lab = try Lab()
        for round in 0..<3 {
            for name in ["it's", "\"quoted\"", "a;b", "--c", "\u{301}e", "名前", "?1", "x\n"] {
                try lab.makeFile(name + "\(round)", bytes: name)
            }
            try lab.replica.change {
                try $0.setXattr("user.k", [0, 255, 39, 59], of: $0.rows.resolve("it's\(round)"), mode: .any)
            }
            let (before, number) = (try names(lab), try lab.replica.look { try $0.resolve("it's\(round)") })
            try lab.killAndOpen()
            #expect(try names(lab) == before)
            #expect(before.count == 8 * (round + 1))
            #expect(try lab.replica.look { try $0.xattr("user.k", of: number) } == [0, 255, 39, 59])
            #expect(lab.replica.repairReport.lines == [])
            #expect(try lab.replica.check() == [])
        }
    }

    @Test func `changes of a daemon that was killed are not made again after those of a later one`() throws {
        let lab = try Lab()
        _ = try lab.makeDirectory("a")
        let log = try Data(contentsOf: URL(filePath: "\(lab.path)/redo"))
        try lab.killAndOpen()
        try lab.removeDirectory(try ItemName("a"), in: .root)
        try lab.replica.commitChanges()
        lab.replica.abandon()
        // As when a version ran that knows nothing of it.
        try log.write(to: URL(filePath: "\(lab.path)/redo"))
        try lab.open()
        #expect(try names(lab) == [])
    }

    @Test func `a change that is longer than the log has a transaction of its own`() throws {
        let lab = try Lab()
        _ = try lab.makeDirectory("a")
        let value = [UInt8](repeating: 7, count: 60_000)
        for number in 0..<12 {
            try lab.replica.change { transaction in
                for key in 0..<2 {
                    try transaction.setXattr(
                        "user.\(number).\(key)", value, of: transaction.rows.resolve("a"), mode: .any)
                }
            }
        }
        let kept = try lab.replica.look { try $0.xattrNames(of: $0.resolve("a")) }.count
        #expect(kept == 24)
        try lab.killAndOpen()
        #expect(try lab.replica.look { try $0.xattrNames(of: $0.resolve("a")) }.count == 24)
    }

    @Test func `a change that is said to be long commits what was done before, and itself`() throws {
        let lab = try Lab()
        _ = try lab.makeDirectory("a")
        let before = try committedCount(lab)
        try lab.replica.change(isLong: true) { try $0.setXattr("user.k", [1], of: $0.rows.resolve("a"), mode: .any) }
        #expect(try (before, committedCount(lab)) == (0, 1))
        #expect(try lab.replica.readCommitted { try $0.xattr("user.k", of: $0.resolve("a")) } == [1])
    }

    @Test func `a transaction that SQLite ends loses no change that was acknowledged`() throws {
        let lab = try Lab()
        _ = try lab.makeDirectory("a")
        // As SQLite does it after some errors of the disk.
        let failure = FileError(.inputOutput, "the disk")
        #expect(throws: failure) {
            try lab.replica.change { transaction in
                try transaction.rows.database.rollback()
                throw failure
            }
        }
        _ = try lab.makeDirectory("b")
        #expect(try names(lab) == ["a", "b"])
        try lab.killAndOpen()
        #expect(try names(lab) == ["a", "b"])
        #expect(try lab.replica.check() == [])
    }
}

extension Replica {
    fileprivate func committedCount(_ table: String) throws -> Int {
        return try readCommitted { try $0.count("SELECT count(*) FROM \(table)") }
    }
}
