import Synchronization
import TestStores
import Testing

@testable import Remote

@Suite struct ConditionedStoreTests {
    let base = MemoryStore()
    let clock = InstantClock()

    private func conditioned(_ condition: LinkCondition, chance: Double = 99) -> ConditionedStore<InstantClock> {
        ConditionedStore(base, condition: condition, clock: clock) { chance }
    }

    @Test func `a download takes the delay plus the transfer time, and arrives in slices`() async throws {
        try await base.put("a", .bytes(Samples.bytes(100_000)))
        let store = conditioned(LinkCondition(delay: .milliseconds(200), downBytesPerSecond: 10_000))
        let stream = try await store.get("a", range: nil)
        #expect(clock.now.elapsed == .milliseconds(200))
        var sliceCount = 0
        for try await slice in stream {
            #expect(slice.count == 500)
            sliceCount += 1
        }
        #expect(sliceCount == 200)
        #expect(abs((clock.now.elapsed - .milliseconds(10_200)) / .milliseconds(1)) < 1)
    }

    @Test func `an upload takes the transfer time of its bytes`() async throws {
        let store = conditioned(LinkCondition(upBytesPerSecond: 1000))
        try await store.put("a", .bytes(Samples.bytes(3000)))
        #expect(abs((clock.now.elapsed - .seconds(3)) / .milliseconds(1)) < 1)
    }

    @Test func `two downloads share the bandwidth`() async throws {
        try await base.put("a", .bytes(Samples.bytes(1000)))
        let store = conditioned(LinkCondition(downBytesPerSecond: 1000))
        let streams = [try await store.get("a", range: nil), try await store.get("a", range: nil)]
        while try await streams[0].next() != nil, try await streams[1].next() != nil {}
        #expect(abs((clock.now.elapsed - .seconds(2)) / .milliseconds(1)) < 60)
    }

    @Test func `a new condition applies from the next slice on`() async throws {
        try await base.put("a", .bytes(Samples.bytes(100_000)))
        let store = conditioned(LinkCondition(downBytesPerSecond: 10))
        let stream = try await store.get("a", range: nil)
        #expect(try await stream.next()?.count == 1)
        store.condition = .unconditioned
        #expect(try await stream.collect(upTo: 100_000).count == 99_999)
        #expect(clock.now.elapsed < .seconds(1))
    }

    @Test func `at 100 percent loss every call fails`() async throws {
        let store = conditioned(LinkCondition(lossPercent: 100), chance: 10)
        let lost = StoreError(.unavailable, key: "a")
        await #expect(throws: lost) { _ = try await store.get("a", range: nil) }
        await #expect(throws: lost) { try await store.create("a", .bytes([1])) }
        await #expect(throws: lost) { _ = try await store.byteCount(of: "a") }
        await #expect(throws: StoreError(.unavailable, key: "")) {
            _ = try await store.list(prefix: "", after: nil, limit: 1)
        }
        #expect(try await base.list(prefix: "", after: nil, limit: 1).isEmpty)
    }

    @Test func `a write may take effect although its response is lost`() async throws {
        let store = conditioned(LinkCondition(lossPercent: 100), chance: 60)
        await #expect(throws: StoreError(.unavailable, key: "a")) { try await store.create("a", .bytes([1])) }
        #expect(try await base.get("a", range: nil).collect(upTo: 1) == [1])
    }

    @Test func `a lookup delays the requests of its time once a minute`() async throws {
        let store = conditioned(LinkCondition(lookupDelay: .seconds(3)))
        try await store.put("a", .bytes([1]))
        #expect(clock.now.elapsed == .seconds(3))
        try await store.put("a", .bytes([1]))
        #expect(clock.now.elapsed == .seconds(3))
        try await clock.sleep(until: clock.now.advanced(by: .seconds(61)), tolerance: nil)
        try await store.put("a", .bytes([1]))
        #expect(clock.now.elapsed == .seconds(67))
    }

    @Test func `a delayed call ends when its task is cancelled`() async throws {
        let store = ConditionedStore(base, condition: LinkCondition(delay: .seconds(3600)), clock: ContinuousClock()) {
            99
        }
        let task = Task { try await store.delete("a") }
        task.cancel()
        let result = await task.result
        #expect(throws: StoreError(.cancelled, key: "a")) { try result.get() }
    }
}

@Suite struct FaultyStoreTests {
    let base = MemoryStore()

    @Test func `failBefore prevents the write, and failAfter throws after it`() async throws {
        let store = FaultyStore(base)
        store.plan(.failBefore(.unavailable), on: .put)
        store.plan(.failAfter(.throttled), on: .put)
        await #expect(throws: StoreError(.unavailable, key: "a")) { try await store.put("a", .bytes([1])) }
        #expect(try await base.list(prefix: "", after: nil, limit: 1).isEmpty)
        await #expect(throws: StoreError(.throttled, key: "a")) { try await store.put("a", .bytes([2])) }
        #expect(try await base.get("a", range: nil).collect(upTo: 1) == [2])
        try await store.put("a", .bytes([3]))
        #expect(store.callCount(.put) == 3)
    }

    @Test func `transfers are truncated, damaged or interrupted`() async throws {
        let store = FaultyStore(base)
        try await base.put("a", .bytes([1, 2, 3]))
        store.plan(.truncate(byteCount: 2), on: .get, prefix: "a")
        #expect(try await store.get("a", range: nil).collect(upTo: 3) == [1, 2])
        store.plan(.damage(offset: 1), on: .get)
        #expect(try await store.get("a", range: nil).collect(upTo: 3) == [1, 0xfd, 3])
        store.plan(.failAfter(.unavailable), on: .get)
        let stream = try await store.get("a", range: nil)
        #expect(try await stream.next() == [1, 2, 3])
        await #expect(throws: StoreError(.unavailable, key: "a")) { _ = try await stream.next() }
        store.plan(.truncate(byteCount: 1), on: .create)
        try await store.create("b", .bytes([1, 2]))
        #expect(try await base.byteCount(of: "b") == 1)
    }

    @Test func `the decide closure applies to calls without a planned fault`() async throws {
        let store = FaultyStore(base) { operation, key in
            operation == .delete && key.hasPrefix("packs/") ? .failBefore(.denied) : nil
        }
        await #expect(throws: StoreError(.denied, key: "packs/a")) { try await store.delete("packs/a") }
        try await store.delete("log/a")
    }
}
