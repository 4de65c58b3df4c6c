import Model
import Remote
import Replica

/// Which items the store had no room for, and how much is sent at a time: a pure value.
///
/// One refused file must not hold up the others. When the store has no room for a batch, half as many items are sent next, down to
/// one: that one is at fault, waits, and the others go on. When item after item is refused, the store is full for all. What no store could take
/// waits alike.
struct UploadFaults: Sendable {
    /// How long an item waits that the store had no room for; doubled each time.
    static let pauseStart = Duration.seconds(30)
    static let pauseLimit = Duration.seconds(600)
    /// How many items may be refused one after the other before nothing more is tried for a while.
    static let refusalLimit = 8

    private struct Fault: Sendable {
        var fault: ItemFault
        var position: Int64
        var pause: Duration
        var retry: Duration
    }

    private var faults: [ItemID: Fault] = [:]
    private var refusalsInARow = 0
    private(set) var batchLimit: Int
    private let fullBatch: Int

    init(fullBatch: Int) {
        self.fullBatch = fullBatch
        batchLimit = fullBatch
    }

    /// Why an item does not go out; `nil` when nothing is known to keep it.
    func fault(of item: ItemID) -> ItemFault? { faults[item]?.fault }

    /// A batch has gone out.
    mutating func sent(_ items: [ItemID]) {
        for item in items { faults[item] = nil }
        refusalsInARow = 0
        batchLimit = min(batchLimit * 2, fullBatch)
    }

    enum Verdict: Equatable {
        /// Try fewer.
        case again
        /// Nothing more is tried for a while.
        case pause
    }

    /// The store had no room for a batch.
    mutating func refused(_ batch: [Pending], _ error: StoreError, at now: Duration) -> Verdict {
        // One item may bring the new directories above it along, which stand before it.
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

    /// An item cannot be sent as it is, whatever the store has room for: it waits until it changes, and everything that does not need it goes
    /// on.
    mutating func refused(_ pending: Pending, because reason: String, at now: Duration) {
        faults[pending.item] = Fault(
            fault: ItemFault(code: 4354, text: reason), position: pending.position, pause: Self.pauseLimit,
            retry: now + Self.pauseLimit)
    }

    /// The places in the outbox of what was refused: what has another by now has changed, and is tried at once (``forget(_:)``).
    var positions: [ItemID: Int64] { faults.mapValues(\.position) }

    mutating func forget(_ items: [ItemID]) { for item in items { faults[item] = nil } }

    /// The items that are not tried yet.
    func waiting(at now: Duration) -> Set<ItemID> { Set(faults.filter { now < $0.value.retry }.keys) }

    /// Why one of the items does not go out.
    var any: ItemFault? { faults.values.first?.fault }

    /// How long until an item is tried again; `nil` when none waits.
    func pause(at now: Duration) -> Duration? { faults.values.map { max($0.retry - now, .zero) }.min() }

    /// Tries an item, or every one, again at once.
    mutating func retry(_ item: ItemID?) {
        refusalsInARow = 0
        for key in faults.keys where item == nil || item == key { faults[key]?.retry = .zero }
    }
}
