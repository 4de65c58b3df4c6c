import Coordination
import Glibc
import Model
import Synchronization

/// The engine as a client of its own lock table: it waits for other claims and asks presenters like any client.
extension Claims {
    /// Waits until a claim of the engine's own is granted.
    ///
    /// - Returns: The claim to pass to ``release(own:)``.
    /// - Throws: ``FileError``: why it was not granted; `interrupted` when the task was cancelled.
    func acquire(
        _ claims: [Claim], mode: ClaimSet.Mode = .access, within limit: Duration?
    ) async throws(FileError) -> ClaimSetID {
        let number = state.withLock { state in
            state.lastSet += 1
            return state.lastSet
        }
        let set = ClaimSet(
            ClaimSetID(number), mode: mode, client: Self.ownClient, process: ProcessID(getpid()),
            coordinator: CoordinatorID("own \(number)"), purpose: Self.ownPurpose, claims: claims,
            deadline: limit.map { lockManager.now + $0 })
        var refusal: ClaimError?
        let end = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<ClaimEnd?, Never>) in
                state.withLock { $0.owners[set.id] = .engine(continuation) }
                do throws(ClaimError) {
                    try lockManager.change { state, now throws(ClaimError) in
                        ((), try state.table.request(set, now: now))
                    }
                } catch {
                    refusal = error
                    if case .engine = state.withLock({ $0.owners.removeValue(forKey: set.id) }) {
                        continuation.resume(returning: .cancelled)
                    }
                }
                if Task.isCancelled { giveUp(set.id) }
            }
        } onCancel: {
            giveUp(set.id)
        }
        if let refusal { throw FileError(refusal) }
        switch end {
        case nil: return set.id
        case .cancelled?, .revoked?: throw FileError(.interrupted, "the wait for a claim was interrupted")
        case .failed(let failure)?:
            throw FileError(failure) { node in
                lockManager.ask { $0.process(of: node) }.map { Self.describe($0) } ?? "another process"
            }
        }
    }

    /// Does not wait for the table's answer: when the engine shuts down, no task is left to deliver it.
    private func giveUp(_ set: ClaimSetID) {
        let owner = state.withLock { state -> Owner? in
            guard case .engine? = state.owners[set] else { return nil }
            return state.owners.removeValue(forKey: set)
        }
        guard case .engine(let continuation)? = owner else { return }
        lockManager.perform { table, now in table.release(set, now: now) }
        continuation.resume(returning: .cancelled)
    }

    func release(own set: ClaimSetID) {
        state.withLock { $0.owners[set] = nil }
        lockManager.perform { table, now in table.release(set, now: now) }
    }
}
