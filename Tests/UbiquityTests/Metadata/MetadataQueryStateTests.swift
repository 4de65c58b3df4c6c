import Model
import Testing

@testable import Ubiquity

@Suite struct MetadataQueryStateTests {
    private typealias Delivery = MetadataQueryState.Delivery

    private let start = ContinuousClock.now
    private let key = FollowedItems.Key(source: 0, number: 1)
    private let other = FollowedItems.Key(source: 0, number: 2)

    /// A query of one source that has gathered one item, and has told so.
    private func live() -> MetadataQueryState {
        var state = MetadataQueryState(sources: [0], batchingInterval: .seconds(1))
        _ = state.start(now: start)
        _ = state.change(key, .sample("a"), now: start)
        _ = state.gathered(0, now: start)
        _ = state.beginDelivery(now: start)
        _ = state.endDelivery(now: start)
        return state
    }

    @Test func `the start is told at once, progress in intervals, and the end when all sources have gathered`() {
        var state = MetadataQueryState(sources: [0, 1], batchingInterval: .seconds(1))
        #expect(state.start(now: start) == [.deliver])
        #expect(state.beginDelivery(now: start) == [Delivery(kind: .started)])
        #expect(state.endDelivery(now: start) == [])
        #expect(state.change(key, .sample("a"), now: start) == [.wait(.seconds(1))])
        #expect(state.change(other, .sample("b"), now: start) == [])
        #expect(state.gathered(0, now: start) == [])
        #expect(state.timerFired(now: start + .seconds(1)) == [.deliver])
        #expect(
            state.beginDelivery(now: start + .seconds(1)) == [
                Delivery(kind: .progress, added: [key: .sample("a"), other: .sample("b")])
            ])
        #expect(state.isGathering)
        #expect(state.endDelivery(now: start + .seconds(1)) == [])
        #expect(state.change(other, nil, now: start + .seconds(1)) == [.wait(.seconds(1))])
        #expect(state.gathered(1, now: start + .seconds(1)) == [.deliver])
        #expect(state.beginDelivery(now: start + .seconds(1)) == [Delivery(kind: .finished, removed: [other])])
        #expect(!state.isGathering)
        #expect(state.visible == [key: .sample("a")])
    }

    @Test func `a query without sources finishes at once`() {
        var state = MetadataQueryState(sources: [], batchingInterval: .seconds(1))
        #expect(state.start(now: start) == [.deliver])
        #expect(state.beginDelivery(now: start).map(\.kind) == [.started, .finished])
        #expect(state.endDelivery(now: start) == [])
    }

    @Test func `several changes of an item within the interval make one, and none if it is as before`() {
        var state = live()
        #expect(state.change(key, .sample("a", percent: 10), now: start) == [.wait(.seconds(1))])
        _ = state.change(key, .sample("a", percent: 20), now: start)
        _ = state.change(other, .sample("b"), now: start)
        _ = state.change(other, nil, now: start)
        #expect(state.timerFired(now: start + .milliseconds(999)) == [.wait(MetadataQueryState.settlingDelay)])
        #expect(state.timerFired(now: start + .seconds(1)) == [.deliver])
        #expect(
            state.beginDelivery(now: start + .seconds(1)) == [
                Delivery(kind: .update, changed: [key: .sample("a", percent: 20)])
            ])
        _ = state.endDelivery(now: start + .seconds(1))
        _ = state.change(key, nil, now: start + .seconds(1))
        _ = state.change(key, .sample("a", percent: 20), now: start + .seconds(1))
        #expect(state.timerFired(now: start + .seconds(2)) == [])
    }

    @Test func `intermediate values of a download are told, one for each interval`() {
        var state = live()
        var told: [Double] = []
        var now = start
        for percent in stride(from: 0.0, through: 100, by: 5) {
            now += .milliseconds(250)
            var effects = state.change(key, .sample("a", percent: percent), now: now)
            if now >= start + .seconds(told.count + 1) { effects += state.timerFired(now: now) }
            guard effects.contains(.deliver) else { continue }
            told += state.beginDelivery(now: now).compactMap { $0.changed[key]?.percentDownloaded }
            _ = state.endDelivery(now: now)
        }
        #expect(told == [15, 35, 55, 75, 95])
    }

    @Test func `after a quiet time a change waits only for those that belong to it`() {
        var state = live()
        #expect(
            state.change(key, .sample("c"), now: start + .seconds(10)) == [.wait(MetadataQueryState.settlingDelay)])
    }

    @Test func `an item that was added and changed is added, and one that was changed and removed is removed`() {
        var state = live()
        _ = state.change(other, .sample("b"), now: start)
        _ = state.change(other, .sample("b", size: 5), now: start)
        _ = state.change(key, .sample("a", size: 5), now: start)
        _ = state.change(key, nil, now: start)
        _ = state.timerFired(now: start + .seconds(1))
        #expect(
            state.beginDelivery(now: start + .seconds(1)) == [
                Delivery(kind: .update, added: [other: .sample("b", size: 5)], removed: [key])
            ])
    }

    @Test func `disabled updates are told once, after the last enabling`() {
        var state = live()
        state.disableUpdates()
        state.disableUpdates()
        #expect(state.change(key, nil, now: start) == [])
        #expect(state.change(other, .sample("b"), now: start) == [])
        #expect(state.enableUpdates(now: start + .seconds(5)) == [])
        #expect(state.enableUpdates(now: start + .seconds(5)) == [.wait(MetadataQueryState.settlingDelay)])
        #expect(state.timerFired(now: start + .seconds(6)) == [.deliver])
        #expect(
            state.beginDelivery(now: start + .seconds(6)) == [
                Delivery(kind: .update, added: [other: .sample("b")], removed: [key])
            ])
    }

    @Test func `updates that are disabled just before their delivery wait too`() {
        var state = live()
        _ = state.change(key, nil, now: start)
        #expect(state.timerFired(now: start + .seconds(1)) == [.deliver])
        state.disableUpdates()
        #expect(state.beginDelivery(now: start + .seconds(1)) == [])
        #expect(state.endDelivery(now: start + .seconds(1)) == [])
        #expect(state.visible.count == 1)
        #expect(!state.enableUpdates(now: start + .seconds(1)).isEmpty)
    }

    @Test func `the end of the gathering phase is told although updates are disabled`() {
        var state = MetadataQueryState(sources: [0], batchingInterval: .seconds(1))
        state.disableUpdates()
        _ = state.start(now: start)
        _ = state.change(key, .sample("a"), now: start)
        _ = state.gathered(0, now: start)
        #expect(
            state.beginDelivery(now: start) == [
                Delivery(kind: .started), Delivery(kind: .finished, added: [key: .sample("a")]),
            ])
    }

    @Test func `what a reconnected source finds is told in one update`() {
        var state = live()
        state.regathers(0)
        #expect(state.change(key, .sample("a", size: 2), now: start + .seconds(5)) == [])
        #expect(state.change(other, .sample("b"), now: start + .seconds(9)) == [])
        #expect(state.gathered(0, now: start + .seconds(9)) == [.wait(MetadataQueryState.settlingDelay)])
        _ = state.timerFired(now: start + .seconds(10))
        #expect(
            state.beginDelivery(now: start + .seconds(10)) == [
                Delivery(kind: .update, added: [other: .sample("b")], changed: [key: .sample("a", size: 2)])
            ])
    }

    @Test func `a source that cannot be reached does not hold up the others`() {
        var state = MetadataQueryState(sources: [0, 1], batchingInterval: .seconds(1))
        _ = state.start(now: start)
        _ = state.beginDelivery(now: start)
        _ = state.endDelivery(now: start)
        #expect(state.disconnected(1, now: start) == [])
        #expect(state.gathered(0, now: start) == [.deliver])
    }

    @Test func `only one delivery is under way at a time`() {
        var state = live()
        _ = state.change(key, nil, now: start)
        _ = state.timerFired(now: start + .seconds(1))
        #expect(state.change(other, .sample("b"), now: start + .seconds(3)) == [])
        _ = state.beginDelivery(now: start + .seconds(3))
        #expect(state.change(key, .sample("c"), now: start + .seconds(5)) == [])
        #expect(state.endDelivery(now: start + .seconds(5)) == [.wait(MetadataQueryState.settlingDelay)])
    }
}
