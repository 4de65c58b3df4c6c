package import Model

extension ReconnectingSession {
    /// Opens a session that reconnects until ``close()``.
    ///
    /// - Parameter onEvent: Called in order; it must not block.
    /// - Throws: When there is no daemon now.
    package static func open(
        socketPath: String, onEvent: @escaping @Sendable (Event) -> Void = { _ in }
    ) async throws(ControlError) -> ReconnectingSession {
        let session = ReconnectingSession(socketPath: { socketPath }, onEvent: onEvent)
        do throws(ControlError) {
            _ = try await session.connected()
        } catch {
            session.end()
            throw error
        }
        return session
    }

    /// Ends the session for good, and with it everything that it holds.
    package func close() async { end() }

    /// Like ``ControlSession/claim(_:onProgress:onLoss:)``.
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

    /// Releases a claim. Does nothing to a claim of an ended session: it is lost already.
    package func release(_ claim: GrantedClaim) async {
        await withCheckedContinuation { answer in release(claim) { answer.resume() } }
    }

    /// Registers a presenter, now and at each reconnection.
    ///
    /// - Throws: When the daemon refuses it, which then is forgotten. Not without a daemon: then it is registered
    ///   later.
    package func present(
        _ request: PresenterRequest, _ handler: any PresenterHandler
    ) async throws(ControlError) {
        try await withCheckedContinuation { (answer: CheckedContinuation<Result<Void, ControlError>, Never>) in
            present(request) { session, known in
                session.queue(handler, replacingThatOf: known)
            } completion: {
                answer.resume(returning: $0)
            }
        }.get()
    }

    package func withdraw(_ presenter: UInt64) async {
        await withCheckedContinuation { answer in withdraw(presenter) { answer.resume() } }
    }

    private func connected() async throws(ControlError) -> ControlSession {
        try await withCheckedContinuation {
            (answer: CheckedContinuation<Result<ControlSession, ControlError>, Never>) in
            whenConnected { answer.resume(returning: $0) }
        }.get()
    }
}
