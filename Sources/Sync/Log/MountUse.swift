import Synchronization

/// Whether the mount is in use: then other devices' changes are polled more often.
///
/// ``note()`` is called on every lookup, so it costs one relaxed load unless the state changes.
package final class MountUse: Sendable {
    private let wasUsed = Atomic(false)
    private let isAwaited = Atomic(false)
    private let began: @Sendable () -> Void

    /// - Parameter began: Called at the first use after ``noteNext(_:)``.
    init(began: @escaping @Sendable () -> Void) { self.began = began }

    package func note() {
        guard !wasUsed.load(ordering: .relaxed) else { return }
        wasUsed.store(true, ordering: .relaxed)
        if isAwaited.exchange(false, ordering: .relaxed) { began() }
    }

    /// - Returns: Whether there was any use since the previous call.
    func take() -> Bool { wasUsed.exchange(false, ordering: .relaxed) }

    /// Reports the next use at once, when `isAwaited`.
    func noteNext(_ isAwaited: Bool) { self.isAwaited.store(isAwaited, ordering: .relaxed) }
}
