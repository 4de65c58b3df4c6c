import Synchronization

/// The wait of a task for a claim, which is abandoned when the task is cancelled.
enum ClaimWait {
    /// - Parameters:
    ///   - begin: Requests the claim, and returns its number.
    ///   - abandon: Ends the wait, so that the completion is called.
    static func run(
        _ begin: (@escaping ReturningClaim.Completion) -> UInt64, abandon: @Sendable (UInt64) -> Void
    ) async throws(ClaimFailure) -> GrantedClaim {
        let wait = Mutex<(number: UInt64?, isCancelled: Bool)>((nil, false))
        return try await withTaskCancellationHandler {
            await withCheckedContinuation { (answer: CheckedContinuation<Result<GrantedClaim, ClaimFailure>, Never>) in
                let number = begin { answer.resume(returning: $0) }
                let isCancelled = wait.withLock { wait in
                    wait.number = number
                    return wait.isCancelled
                }
                // Cancelled before the claim had a number.
                if isCancelled { abandon(number) }
            }
        } onCancel: {
            let number = wait.withLock { wait in
                wait.isCancelled = true
                return wait.number
            }
            if let number { abandon(number) }
        }.get()
    }
}
