import Model
import Remote
import Replica

/// Which items the store had no room for, and how many are sent at a time: a pure value.
///
/// One refused file must not block the others. When the store has no room for a batch, half as many items are sent
/// next, down to one: that item is at fault and waits, while the others continue. When item after item is refused, the
/// store is full for all. Items that no store could accept wait in the same way.
struct UploadFaults: Sendable {
    /// How long an item waits that the store had no room for; doubled each time.
    static let pauseStart = Duration.seconds(30)
    static let pauseLimit = Duration.seconds(600)
    /// How long an item waits that could not be read on this device; doubled each time.
    static let readPauseStart = Duration.seconds(1)
    static let readPauseLimit = Duration.seconds(60)
    /// How many items in a row may be refused before uploading pauses.
    static let refusalLimit = 8

    private struct Fault: Sendable {
        var fault: ItemFault
        var position: Int64
        var pause: Duration
        var retry: Duration
        /// How many bytes of the container's quota it needs; `nil` for every other reason.
        var growth: Int64?
    }

    private var faults: [ItemID: Fault] = [:]
    private var refusalsInARow = 0
    private(set) var batchLimit: Int
    private let fullBatch: Int

    init(fullBatch: Int) {
        self.fullBatch = fullBatch
        batchLimit = fullBatch
    }

    /// Why an item is not uploaded; `nil` when there is no known reason.
    func fault(of item: ItemID) -> ItemFault? { faults[item]?.fault }

    /// A batch was uploaded.
    mutating func sent(_ items: [ItemID]) {
        for item in items { faults[item] = nil }
        refusalsInARow = 0
        batchLimit = min(batchLimit * 2, fullBatch)
    }

    enum Verdict: Equatable {
        /// Try fewer items.
        case again
        /// Pause uploading.
        case pause
    }

    /// The store had no room for a batch.
    mutating func refused(_ batch: [Pending], _ error: StoreError, at now: Duration) -> Verdict {
        // One item may require the new directories above it, which precede it in the batch.
        guard batch.count == 1 || batchLimit == 1, let last = batch.last else {
            batchLimit = max(1, batch.count / 2)
            return .again
        }
        let pause = min((faults[last.item]?.pause ?? Self.pauseStart / 2) * 2, Self.pauseLimit)
        faults[last.item] = Fault(
            fault: ItemFault(code: 4354, text: error.description), position: last.position, pause: pause,
            retry: now + pause)
        refusalsInARow += 1
        return refusalsInARow < Self.refusalLimit ? .again : .pause
    }

    /// An item cannot be sent as it is, however much room the store has: it waits until it changes, and items that do
    /// not depend on it continue.
    ///
    /// - Parameters:
    ///   - growth: How many bytes of the container's quota it needs, if that is the reason: then it waits until they are
    ///     there, too.
    ///   - isUnreadable: Whether this device's disk does not give its bytes: then it is tried again soon, and less and
    ///     less often.
    mutating func refused(
        _ pending: Pending, because reason: String, growth: Int64? = nil, isUnreadable: Bool = false, at now: Duration
    ) {
        var pause = Self.pauseLimit
        if isUnreadable {
            pause = min((faults[pending.item]?.pause ?? Self.readPauseStart / 2) * 2, Self.readPauseLimit)
        }
        faults[pending.item] = Fault(
            fault: ItemFault(code: isUnreadable ? 256 : 4354, text: reason), position: pending.position, pause: pause,
            retry: now + pause, growth: growth)
    }

    /// Whether an item waits for room in the container's quota.
    var isOverQuota: Bool { faults.values.contains { $0.growth != nil } }

    /// The items that wait for room in the quota and fit into `rest` bytes each; `nil` without a quota.
    func items(fitting rest: Int64?) -> [ItemID] {
        faults.filter { $0.value.growth.map { growth in rest.map { growth <= $0 } ?? true } ?? false }.map(\.key)
    }

    /// The outbox positions of refused items: an item at another position has changed, and is tried at once
    /// (``forget(_:)``).
    var positions: [ItemID: Int64] { faults.mapValues(\.position) }

    mutating func forget(_ items: [ItemID]) { for item in items { faults[item] = nil } }

    /// The items whose retry time has not come.
    func waiting(at now: Duration) -> Set<ItemID> { Set(faults.filter { now < $0.value.retry }.keys) }

    /// Why one of the items is not uploaded.
    var any: ItemFault? { faults.values.first?.fault }

    /// How long until an item is tried again; `nil` when none waits.
    func pause(at now: Duration) -> Duration? { faults.values.map { max($0.retry - now, .zero) }.min() }

    /// Retries an item, or all, at once.
    mutating func retry(_ item: ItemID?) {
        refusalsInARow = 0
        for key in faults.keys where item == nil || item == key { faults[key]?.retry = .zero }
    }
}
