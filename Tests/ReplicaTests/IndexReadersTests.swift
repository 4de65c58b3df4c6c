import Foundation
import GRDB
import Synchronization
import Testing

@testable import Replica

@Suite struct IndexReadersTests {
    private struct Refusal: Error {}

    /// An index with one number, which counts its connections.
    private final class Index: Sendable {
        let path = FileManager.default.temporaryDirectory.appending(path: "dewpoint-\(UUID()).sqlite").path
        let connectCount = Mutex(0)
        let refusalCount = Mutex(0)

        init() throws {
            try DatabaseQueue(path: path).write {
                try $0.execute(sql: "CREATE TABLE numbers(n INTEGER); INSERT INTO numbers VALUES(7)")
            }
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }

        func readers(limit: Int) throws -> IndexReaders {
            try IndexReaders(limit: limit) { [self] in
                let isRefused = refusalCount.withLock { count in
                    defer { count -= 1 }
                    return count > 0
                }
                if isRefused { throw Refusal() }
                connectCount.withLock { $0 += 1 }
                return try DatabaseQueue(path: path)
            }
        }
    }

    private func number(_ readers: IndexReaders) throws -> Int? {
        try readers.read { try Int.fetchOne($0.database, sql: "SELECT n FROM numbers") }
    }

    @Test func `more callers than connections are all served`() async throws {
        let index = try Index()
        let readers = try index.readers(limit: 2)
        try await withThrowingTaskGroup(of: Int?.self) { group in
            for _ in 0..<40 { group.addTask { try number(readers) } }
            for try await answer in group { #expect(answer == 7) }
        }
        #expect(index.connectCount.withLock { $0 } <= 2)
        try readers.close()
    }

    @Test func `sequential callers share one connection`() throws {
        let index = try Index()
        let readers = try index.readers(limit: 8)
        for _ in 0..<5 { #expect(try number(readers) == 7) }
        #expect(index.connectCount.withLock { $0 } == 1)
        try readers.close()
    }

    @Test func `a failed connection attempt is retried`() throws {
        let index = try Index()
        let readers = try index.readers(limit: 2)
        index.refusalCount.withLock { $0 = 3 }
        try readers.read { _ in
            // The first connection is in use, so each of these needs another.
            for _ in 0..<3 { #expect(throws: Refusal.self) { try number(readers) } }
            let answer = try number(readers)
            #expect(answer == 7)
        }
        try readers.close()
    }

    @Test func `a read after close fails`() throws {
        let readers = try Index().readers(limit: 2)
        _ = try number(readers)
        try readers.close()
        let error = #expect(throws: DatabaseError.self) { try number(readers) }
        #expect(error?.message == "the index is closed")
    }
}
