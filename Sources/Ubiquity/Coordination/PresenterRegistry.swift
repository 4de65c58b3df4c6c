import Synchronization

/// The presenters of this process.
final class PresenterRegistry: Sendable {
    static let shared = PresenterRegistry()

    private struct State {
        var presenters: [ObjectIdentifier: RegisteredPresenter] = [:]
        var lastNumber: UInt64 = 0
    }

    private let state = Mutex(State())

    private init() {}

    /// Registers a presenter; blocks until it misses no event. Does nothing if it is registered already.
    func add(_ presenter: any NSFilePresenter) {
        let registered = state.withLock { state -> RegisteredPresenter? in
            let identity = ObjectIdentifier(presenter)
            // An entry of an object that is gone: its address was used again.
            if let known = state.presenters[identity], known.presenter != nil { return nil }
            state.lastNumber += 1
            let registered = RegisteredPresenter(presenter, number: state.lastNumber)
            state.presenters[identity] = registered
            return registered
        }
        registered?.settle(isNew: true)
    }

    /// Called from `deinit` too: it neither retains the presenter nor makes a weak reference to it.
    func remove(_ presenter: any NSFilePresenter) {
        let registered = state.withLock { $0.presenters.removeValue(forKey: ObjectIdentifier(presenter)) }
        registered?.withdraw()
    }

    /// Removes the entry of a presenter that was deallocated without being removed.
    func forget(_ registered: RegisteredPresenter) {
        state.withLock { state in
            guard state.presenters[registered.identity] === registered else { return }
            state.presenters[registered.identity] = nil
        }
        registered.withdraw()
    }

    var all: [any NSFilePresenter] { state.withLock { Array($0.presenters.values) }.compactMap(\.presenter) }

    func registered(_ presenter: any NSFilePresenter) -> RegisteredPresenter? {
        state.withLock { $0.presenters[ObjectIdentifier(presenter)] }
    }

    /// Has the presenters of an item, and of everything in it, follow it to another domain.
    ///
    /// Called before the claim of the move is released: whoever waits for it finds the presenters at the new place.
    /// - Returns: Those to which ``RegisteredPresenter/settleAfterMove()`` has to be sent after the release.
    func follow(_ move: DomainMove) -> [RegisteredPresenter] {
        let presenters = state.withLock { Array($0.presenters.values) }
        let place = ItemPlace(move.from)
        return presenters.filter { $0.number != move.presenter && $0.leave(place, to: move.to) }
    }

    func contains(_ registered: RegisteredPresenter) -> Bool {
        state.withLock { $0.presenters[registered.identity] === registered }
    }
}
