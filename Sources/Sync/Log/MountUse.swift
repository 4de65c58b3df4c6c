import Synchronization

/// Whether somebody uses the mount: then other devices' changes are looked for more often.
///
/// ``note()`` is on the way of every lookup, so it costs one relaxed load while it says nothing new.
package final class MountUse: Sendable {
    private let wasUsed = Atomic(false)
    private let isAwaited = Atomic(false)
    private let began: @Sendable () -> Void

    /// - Parameter began: Called at the first use after ``tellNext(_:)``.
    init(began: @escaping @Sendable () -> Void) { self.began = began }

    package func note() {
        guard !wasUsed.load(ordering: .relaxed) else { return }
        wasUsed.store(true, ordering: .relaxed)
        if isAwaited.exchange(false, ordering: .relaxed) { began() }
    }

    /// - Returns: Whether there was any use since it was asked last.
    func take() -> Bool { wasUsed.exchange(false, ordering: .relaxed) }

    /// Has the next use told at once, when `isAwaited`.
    func tellNext(_ isAwaited: Bool) { self.isAwaited.store(isAwaited, ordering: .relaxed) }
}
