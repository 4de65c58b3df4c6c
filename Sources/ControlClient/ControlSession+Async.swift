import ControlAPI
package import Model
import Synchronization

/// The functions of ``ControlSession`` that end early when the caller's task is cancelled.
extension ControlSession {
    /// Opens a session, and waits until the daemon has welcomed it.
    ///
    /// - Throws: ``ControlError/refused(_:)`` when the daemon has too many sessions.
    package static func open(
        socketPath: String, withholdsDownloads: Bool = false, answerLimit: Duration = ControlSession.answerLimit
    ) async throws(ControlError) -> ControlSession {
        let connected = Mutex<(session: ControlSession?, isCancelled: Bool)>((nil, false))
        return try await withTaskCancellationHandler {
            await withCheckedContinuation {
                (answer: CheckedContinuation<Result<ControlSession, ControlError>, Never>) in
                open(socketPath: socketPath, withholdsDownloads: withholdsDownloads, answerLimit: answerLimit) {
                    session in
                    let isCancelled = connected.withLock { connected in
                        connected.session = session
                        return connected.isCancelled
                    }
                    if isCancelled { session.end() }
                } completion: {
                    answer.resume(returning: $0)
                }
            }
        } onCancel: {
            let session = connected.withLock { connected in
                connected.isCancelled = true
                return connected.session
            }
            session?.end()
        }.get()
    }

    /// Waits until the session is over.
    ///
    /// - Returns: The reason; ``ControlError/cancelled`` after ``close()``, and when the caller's task is cancelled.
    package func ended() async -> ControlError {
        let number = Self.nextNumber()
        do throws(ControlError) {
            try await cancellable {
                $0.awaitEnd($1, number: number)
            } onCancel: {
                $0.stopAwaitingEnd(number: number)
            }
        } catch {
            return error
        }
        return .cancelled
    }

    /// Ends the session, and with it everything that it holds.
    package func close() async {
        end(.cancelled)
        await withCheckedContinuation { closed in connection.whenOver { closed.resume() } }
    }
}

// MARK: Claims

extension ControlSession {
    /// Waits for coordinated access, as the other form does.
    ///
    /// When the caller's task is cancelled it throws at once, and a claim that the daemon grants afterwards is
    /// released.
    package func claim(
        _ request: ClaimRequest, onProgress: (@Sendable (ClaimProgress) -> Void)? = nil,
        onLoss: (@Sendable (ClaimEnded) -> Void)? = nil
    ) async throws(ClaimFailure) -> GrantedClaim {
        try await ClaimWait.run { completion in
            claim(request, onProgress: onProgress, onLoss: onLoss, completion: completion)
        } abandon: {
            abandon($0)
        }
    }

    /// Releases a claim, and waits until the claims waiting for it can be granted. Does nothing if the claim is lost
    /// already.
    ///
    /// When the caller's task is cancelled it returns at once; the claim is released all the same.
    package func release(_ claim: GrantedClaim) async {
        let number = claim.claim
        // As above.
        try? await cancellable {
            $0.release(number, $1, now: .now)
        } onCancel: {
            $0.stopAwaitingRelease(number)
        }
    }

    /// Runs `body` under a claim.
    package func withClaim<Value>(
        _ request: ClaimRequest, onProgress: (@Sendable (ClaimProgress) -> Void)? = nil,
        onLoss: (@Sendable (ClaimEnded) -> Void)? = nil, _ body: (GrantedClaim) async throws -> Value
    ) async throws -> Value {
        let granted = try await claim(request, onProgress: onProgress, onLoss: onLoss)
        do {
            let value = try await body(granted)
            await release(granted)
            return value
        } catch {
            await release(granted)
            throw error
        }
    }
}

// MARK: Presenters

extension ControlSession {
    /// Registers a presenter, or replaces the item, methods or handler of a registered one.
    ///
    /// Returns when it is registered: no later event of the item is missed.
    package func present(
        _ request: PresenterRequest, _ handler: any PresenterHandler
    ) async throws(ControlError) {
        let number = Self.nextNumber()
        let presenter = request.presenter
        let line: [UInt8]
        do throws(FileError) {
            line = try self.line(.present(request))
        } catch {
            throw .refused(error)
        }
        try await cancellable { [self] ledger, answer in
            ledger.present(presenter, line: line, .init(number: number, call: answer, since: .now)) { known in
                queue(handler, replacingThatOf: known)
            }
        } onCancel: {
            $0.stopAwaitingRegistration(presenter: presenter, number: number)
        }
    }

    /// An inbox that passes its messages to a handler, one after the other.
    func queue(_ handler: any PresenterHandler, replacingThatOf known: (any PresenterInbox)?) -> any PresenterInbox {
        if let known = known as? PresenterQueue {
            known.replaceHandler(handler)
            return known
        }
        return PresenterQueue(handler) { [weak self] in self?.answer($0) }
    }

    /// Withdraws a presenter: it gets no more messages, and its answers are no longer waited for.
    package func withdraw(_ presenter: UInt64) async throws(ControlError) {
        let number = Self.nextNumber()
        try await cancellable {
            $0.withdraw(presenter, .init(number: number, call: $1, since: .now))
        } onCancel: {
            $0.stopAwaitingRegistration(presenter: presenter, number: number)
        }
    }

    /// Waits for an answer from the ledger or from a cancellation.
    private func cancellable(
        _ begin: @Sendable (inout SessionLedger, @escaping SessionLedger.Answer) -> [SessionLedger.Effect],
        onCancel: @Sendable (inout SessionLedger) -> [SessionLedger.Effect]
    ) async throws(ControlError) {
        try await withTaskCancellationHandler {
            await withCheckedContinuation { (answer: CheckedContinuation<Result<Void, ControlError>, Never>) in
                change { begin(&$0) { answer.resume(returning: $0) } }
                if Task.isCancelled { change(onCancel) }
            }
        } onCancel: {
            change(onCancel)
        }.get()
    }
}
