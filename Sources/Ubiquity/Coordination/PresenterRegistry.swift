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

    /// The presenter whose messages arrive on a queue; the main queue may be that of many, of which none is meant.
    func presenter(on queue: OperationQueue) -> RegisteredPresenter? {
        guard queue !== OperationQueue.main else { return nil }
        let presenters = state.withLock { Array($0.presenters.values) }
        return presenters.first { $0.presenter?.presentedItemOperationQueue === queue }
    }
}
