import Synchronization
import TestStores
import Testing

@testable import Remote

/// Lends the bytes of its objects.
private struct LendingStore: StoreDecorator {
    private let memory = MemoryStore()

    func base(_ key: String) -> any ObjectStore { memory }

    func get(_ address: ObjectAddress, range: Range<Int64>?) async throws(StoreError) -> ByteStream {
        let stream = try await memory.get(address, range: range)
        return ByteStream(key: stream.key) { (take) async throws(StoreError) in
            try await stream.next { piece in piece.bytes.withUnsafeBytes { take(.borrowed($0)) } }
        }
    }
}

@Suite struct ByteStreamTests {
    /// A stream that lends its pieces.
    private func lending(_ pieces: [[UInt8]]) -> ByteStream {
        let rest = SharedMutex(Mutex(pieces[...]))
        return ByteStream(key: "k") { (take) async throws(StoreError) in
            guard let piece = rest.value.withLock({ $0.popFirst() }) else { return false }
            piece.withUnsafeBytes { take(.borrowed($0)) }
            return true
        }
    }

    @Test func `borrowed pieces are copied for a reader that wants arrays`() async throws {
        let stream = lending([[1, 2], [3]])
        #expect(try await stream.next() == [1, 2])
        #expect(try await stream.next() == [3])
        #expect(try await stream.next() == nil)
        #expect(try await lending([[1, 2], [3]]).collect(upTo: 3) == [1, 2, 3])
    }

    @Test func `a piece in an array is passed on as it is`() async throws {
        let stream = ByteStream(key: "k") { () async throws(StoreError) in [7] }
        var arrays: [[UInt8]] = []
        let hasArrived = try await stream.next { if case .array(let bytes) = $0 { arrays.append(bytes) } }
        #expect(hasArrived && arrays == [[7]])
    }

    @Test(arguments: [nil, 40] as [Int64?])
    func `a conditioned store passes on what it borrows, whole or in slices`(bytesPerSecond: Int64?) async throws {
        let base = LendingStore()
        try await base.put("f", .bytes([1, 2, 3, 4, 5]))
        let store = ConditionedStore(
            base, condition: LinkCondition(downBytesPerSecond: bytesPerSecond), clock: InstantClock()
        ) { 100 }
        let stream = try await store.get("f", range: nil)
        var counts: [Int] = []
        while try await stream.next({ counts.append($0.count) }) {}
        #expect(counts == (bytesPerSecond == nil ? [5] : [2, 2, 1]))
        #expect(try await store.get("f", range: nil).collect(upTo: 5) == [1, 2, 3, 4, 5])
    }
}
