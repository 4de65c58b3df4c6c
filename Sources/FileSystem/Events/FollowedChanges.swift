package import Model
import Remote
package import Replica
import Synchronization

/// What one client of ``FollowRequest`` is still to be sent: which names changed, in their order, and the state
/// of which items changed. The states themselves are read when they are sent.
package final class FollowedChanges: Sendable {
    /// How many changes wait for a client that does not read, before it is disconnected.
    package static let limit = 65_536
    /// How many bytes the paths of these take at most: 64 MiB.
    package static let byteLimit = 64 << 20

    /// How a path lies to the one that is followed.
    package enum Position {
        case inside, above, outside
    }

    private struct State {
        /// The last transaction of the index whose changes are here or were sent.
        var sequence: Int64 = 0
        var places: [(sequence: Int64, change: PlaceChange)] = []
        var inodes: Set<InodeNumber> = []
        var inherited: Set<InodeNumber> = []
        var isOverflown = false
        var placesByteCount = 0

        var count: Int { places.count + inodes.count + inherited.count }
    }

    /// The path that is followed.
    package let top: String
    /// Raised when there is something to send; finished when nothing more will be sent.
    private let wakes = Signal()
    private let overflow = Signal()
    private let state = Mutex(State())

    init(top: String) { self.top = top }

    /// - Parameter sequence: The last transaction whose changes will not be delivered here.
    func begin(after sequence: Int64) { state.withLock { $0.sequence = max($0.sequence, sequence) } }

    package func finish() { wakes.finish() }

    /// Whether there were more changes than ``limit``: then some are missing, and the client must begin again.
    package var isOverflown: Bool { state.withLock { $0.isOverflown } }

    /// Waits until there may be something to send.
    /// - Returns: `false` when nothing more will be sent, or when the task is cancelled.
    package func wait() async -> Bool { await wakes.wait() }

    /// Returns at the overflow, or when the task is cancelled.
    package func waitForOverflow() async { await overflow.wait() }

    // MARK: Adding

    func add(_ changes: IndexChanges) {
        let places = changes.places.filter(concerns)
        add { state in
            state.sequence = changes.sequence
            state.places += places.map { (changes.sequence, $0) }
            state.placesByteCount += places.reduce(0) { $0 + $1.byteCount }
            state.inodes.formUnion(changes.inodes)
            state.inherited.formUnion(changes.inherited)
            if changes.isIncomplete { state.isOverflown = true }
        }
    }

    package func add(_ inodes: [InodeNumber]) { add { $0.inodes.formUnion(inodes) } }

    private func add(_ body: (inout State) -> Void) {
        let isOverflown = state.withLock { state in
            if state.isOverflown { return true }
            body(&state)
            state.isOverflown = state.isOverflown || state.count > Self.limit || state.placesByteCount > Self.byteLimit
            if state.isOverflown {
                state.places = []
                state.placesByteCount = 0
                state.inodes = []
                state.inherited = []
            }
            return state.isOverflown
        }
        guard isOverflown else {
            wakes.raise()
            return
        }
        wakes.finish()
        overflow.raise()
    }

    private func concerns(_ change: PlaceChange) -> Bool {
        [change.from, change.to].contains { $0.map { position(of: $0.string) != .outside } ?? false }
    }

    package func position(of path: String) -> Position {
        if top.isEmpty || path.utf8.elementsEqual(top.utf8) || path.utf8.starts(with: "\(top)/".utf8) { return .inside }
        return top.utf8.starts(with: path.isEmpty ? "".utf8 : "\(path)/".utf8) ? .above : .outside
    }

    // MARK: Taking

    /// Whether the changes of all transactions up to this one are here or were sent.
    package func hasReached(_ sequence: Int64) -> Bool { state.withLock { $0.sequence >= sequence } }

    /// Takes the changes of names up to a transaction.
    package func takePlaces(through sequence: Int64) -> [PlaceChange] {
        state.withLock { state in
            let count = state.places.firstIndex { $0.sequence > sequence } ?? state.places.count
            let taken = state.places.prefix(count).map(\.change)
            state.places.removeFirst(count)
            state.placesByteCount -= taken.reduce(0) { $0 + $1.byteCount }
            return taken
        }
    }

    /// Takes items whose state changed.
    package func takeInodes(limit: Int) -> [InodeNumber] {
        state.withLock { state in
            let taken = Array(state.inodes.prefix(limit))
            state.inodes.subtract(taken)
            return taken
        }
    }

    /// The state of an item is about to be read and sent.
    package func forget(_ inode: InodeNumber) { state.withLock { _ = $0.inodes.remove(inode) } }

    /// Takes the items whose settings changed.
    package func takeInherited() -> Set<InodeNumber> {
        state.withLock { state in
            defer { state.inherited = [] }
            return state.inherited
        }
    }
}
