import Model

/// The phases, the batching and the holding back of a started query, as a pure value: events go in, effects come out.
///
///     gathering ── all sources have gathered ──▶ live
///        each change ─▶ pending ─▶ (batching interval) ─▶ delivery on the program's queue ─▶ visible
///
/// Changes wait in `pending`, one for each item, so that several changes of an item make one. Only one delivery is under
/// way at a time.
struct MetadataQueryState {
    typealias Key = FollowedItems.Key

    enum Effect: Equatable {
        /// Call ``timerFired(now:)`` after that time.
        case wait(Duration)
        /// Call ``beginDelivery(now:)`` on the program's queue.
        case deliver
    }

    /// What one notification publishes.
    struct Delivery: Equatable {
        enum Kind: Equatable { case started, progress, finished, update }

        var kind: Kind
        var added: [Key: ItemStatus] = [:]
        var changed: [Key: ItemStatus] = [:]
        var removed: Set<Key> = []

        var isEmpty: Bool { added.isEmpty && changed.isEmpty && removed.isEmpty }
    }

    /// How long a first change waits for others, since one action of a program makes several changes.
    static let settlingDelay = Duration.milliseconds(50)

    /// The least time between two notifications.
    var batchingInterval: Duration
    /// Sources that have not gathered yet: for the first time, or again after a reconnection.
    private var gathering: Set<Int>
    private var regathering: Set<Int> = []
    private(set) var isGathering = true
    private var mustTellStart = true
    private var mustTellFinish = false

    /// The program's results.
    private(set) var visible: [Key: ItemStatus] = [:]
    /// The states that results shall get; `nil` for an item that is no result any more.
    private var pending: [Key: ItemStatus?] = [:]

    private var disableCount = 0
    private var lastDelivery: ContinuousClock.Instant?
    private var isWaiting = false
    private var isDeliveryRequested = false
    private var isDelivering = false

    /// - Parameter sources: The numbers of the daemons that are followed.
    init(sources: Set<Int>, batchingInterval: Duration) {
        gathering = sources
        self.batchingInterval = batchingInterval
    }

    // MARK: Events of the sources

    mutating func start(now: ContinuousClock.Instant) -> [Effect] {
        lastDelivery = now
        if gathering.isEmpty { mustTellFinish = true }
        return proceed(now: now)
    }

    /// An item is a result with this state, or none if that is `nil`.
    mutating func change(_ key: Key, _ status: ItemStatus?, now: ContinuousClock.Instant) -> [Effect] {
        if visible[key] == status {
            // As before: for example added and removed again since the last delivery.
            pending[key] = nil
            return []
        }
        pending.updateValue(status, forKey: key)
        return proceed(now: now)
    }

    /// A source has listed everything; or it cannot be reached, and the others need not wait for it.
    mutating func gathered(_ source: Int, now: ContinuousClock.Instant) -> [Effect] {
        regathering.remove(source)
        if gathering.remove(source) != nil, gathering.isEmpty { mustTellFinish = true }
        return proceed(now: now)
    }

    /// Further daemons are followed.
    mutating func follow(_ sources: Set<Int>) { gathering.formUnion(sources) }

    /// A source lists everything again after a reconnection: what it finds is published in one notification.
    mutating func regathers(_ source: Int) { regathering.insert(source) }

    /// A source is not reached any more: what it knows is published, and results stay.
    mutating func disconnected(_ source: Int, now: ContinuousClock.Instant) -> [Effect] {
        gathered(source, now: now)
    }

    // MARK: Events of the program

    mutating func disableUpdates() { disableCount += 1 }

    mutating func enableUpdates(now: ContinuousClock.Instant) -> [Effect] {
        disableCount = max(0, disableCount - 1)
        return proceed(now: now)
    }

    // MARK: Delivery

    mutating func timerFired(now: ContinuousClock.Instant) -> [Effect] {
        isWaiting = false
        guard !isDelivering, !isDeliveryRequested, mayTellChanges, !pending.isEmpty, isDue(now) else {
            return proceed(now: now)
        }
        isDeliveryRequested = true
        return [.deliver]
    }

    /// - Returns: The notifications to post, in order; empty when updates were disabled meanwhile. After posting them,
    ///   ``endDelivery(now:)`` must be called.
    mutating func beginDelivery(now: ContinuousClock.Instant) -> [Delivery] {
        isDeliveryRequested = false
        isDelivering = true
        var deliveries: [Delivery] = []
        if mustTellStart {
            mustTellStart = false
            deliveries.append(Delivery(kind: .started))
        }
        if mustTellFinish {
            mustTellFinish = false
            isGathering = false
            deliveries.append(takePending(.finished))
        } else if mayTellChanges, !pending.isEmpty, isDue(now) {
            let delivery = takePending(isGathering ? .progress : .update)
            if !delivery.isEmpty { deliveries.append(delivery) }
        }
        if deliveries.contains(where: { $0.kind != .started }) { lastDelivery = now }
        return deliveries
    }

    mutating func endDelivery(now: ContinuousClock.Instant) -> [Effect] {
        isDelivering = false
        return proceed(now: now)
    }

    private mutating func takePending(_ kind: Delivery.Kind) -> Delivery {
        var delivery = Delivery(kind: kind)
        for (key, status) in pending {
            switch (visible[key], status) {
            case (nil, let status?): delivery.added[key] = status
            case (let old?, let status?): if old != status { delivery.changed[key] = status }
            case (.some, nil): delivery.removed.insert(key)
            case (nil, nil): break
            }
            visible[key] = status
        }
        pending = [:]
        return delivery
    }

    private var mayTellChanges: Bool { disableCount == 0 && regathering.isEmpty }

    private func isDue(_ now: ContinuousClock.Instant) -> Bool {
        lastDelivery.map { now >= $0 + batchingInterval } ?? true
    }

    private mutating func proceed(now: ContinuousClock.Instant) -> [Effect] {
        guard !isDelivering, !isDeliveryRequested else { return [] }
        if mustTellStart || mustTellFinish {
            isDeliveryRequested = true
            return [.deliver]
        }
        guard mayTellChanges, !pending.isEmpty, !isWaiting else { return [] }
        let due = lastDelivery.map { $0 + batchingInterval } ?? now
        isWaiting = true
        return [.wait(max(due - now, Self.settlingDelay))]
    }
}
