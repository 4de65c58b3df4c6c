import Crypto
import Foundation
import Remote
import Synchronization
import Testing

@testable import Sealing

/// Tasks that want the header of the same pack at the same time.
@Suite struct PackHeadersTests {
    private static let key = "packs/a"
    private let headers = PackHeaders(limit: 2)
    private let asked = Signal()
    private let answered = Signal()

    private static func header(_ key: String = key) throws -> SealedHeader {
        try SealedHeader(
            key: key, byteCount: 1, salt: SealedStore.randomSalt(),
            keys: SealingKeys(
                container: UUID(), epoch: 1, epochKeys: [1: SymmetricKey(size: .bits256)],
                containerKey: SymmetricKey(size: .bits256)))
    }

    /// One task has asked the store, and the others wait for its answer.
    private func others(
        _ count: Int, waitingFor answer: Result<SealedHeader, StoreError>, isCancelled: Bool = false,
        fetch: @escaping @Sendable () throws(StoreError) -> SealedHeader
    ) async throws -> (first: Result<SealedHeader, any Error>, others: [Result<SealedHeader, any Error>]) {
        let (headers, asked, answered) = (headers, asked, answered)
        let first = Task {
            try await headers.header(of: Self.key) { () async throws(StoreError) in
                asked.raise()
                await answered.wait(since: 0)
                let header = try answer.get()
                headers.remember(header, of: Self.key)
                return header
            }
        }
        await asked.wait(since: 0)
        let tasks = (0..<count).map { _ in
            Task { try await headers.header(of: Self.key) { () async throws(StoreError) in try fetch() } }
        }
        while headers.waitingCount < count { await Task.yield() }
        if isCancelled { for task in tasks { task.cancel() } } else { answered.raise() }
        var results: [Result<SealedHeader, any Error>] = []
        for task in tasks { results.append(await task.result) }
        answered.raise()
        return (await first.result, results)
    }

    @Test func `those that want one that is under way wait for it`() async throws {
        let header = try Self.header()
        let results = try await others(3, waitingFor: .success(header)) { () throws(StoreError) in
            throw StoreError(.unavailable, key: Self.key, "was asked twice")
        }
        for result in results.others { #expect(try result.get().bytes == header.bytes) }
        #expect(headers.header(of: Self.key)?.bytes == header.bytes)
    }

    @Test func `when the request fails, each of the others makes its own`() async throws {
        let header = try Self.header()
        let failure = StoreError(.unavailable, key: Self.key)
        let counted = SharedMutex(Mutex(0))
        let results = try await others(3, waitingFor: .failure(failure)) { () throws(StoreError) in
            counted.value.withLock { $0 += 1 }
            return header
        }
        #expect(throws: failure) { try results.first.get() }
        for result in results.others { #expect(try result.get().bytes == header.bytes) }
        #expect(counted.value.withLock { $0 } == 3)
    }

    @Test func `one that is cancelled does not wait for the others`() async throws {
        let header = try Self.header()
        let cancelled = StoreError(.cancelled, key: Self.key)
        let results = try await others(2, waitingFor: .success(header), isCancelled: true) { () throws(StoreError) in
            throw cancelled
        }
        for result in results.others { #expect(throws: cancelled) { try result.get() } }
        #expect(try results.first.get().bytes == header.bytes)
    }

    @Test func `one that has waited for a request that failed does not wait for the next`() async throws {
        let (headers, asked, answered, ended) = (headers, asked, answered, Signal())
        let header = try Self.header()
        let failing = Task {
            for answer in [answered, ended] {
                _ = try? await headers.header(of: Self.key) { () async throws(StoreError) in
                    asked.raise()
                    await answer.wait(since: 0)
                    throw StoreError(.unavailable, key: Self.key)
                }
            }
        }
        await asked.wait(since: 0)
        let waiting = Task { try await headers.header(of: Self.key) { () async throws(StoreError) in header } }
        while headers.waitingCount < 1 { await Task.yield() }
        answered.raise()
        #expect(try await waiting.value.bytes == header.bytes)
        ended.raise()
        await failing.value
    }

    @Test func `only those of packs are remembered, and no more than the limit`() throws {
        headers.remember(try Self.header("log/1"), of: "log/1")
        #expect(headers.header(of: "log/1") == nil)
        for name in ["a", "b", "c"] { headers.remember(try Self.header("packs/\(name)"), of: "packs/\(name)") }
        #expect(["a", "b", "c"].map { headers.header(of: "packs/\($0)") != nil } == [false, false, true])
        headers.forget("packs/c")
        #expect(headers.header(of: "packs/c") == nil)
    }
}
