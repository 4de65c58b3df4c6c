import Dispatch
package import Model
import Synchronization

/// Claims that go on with the daemon that takes the place of a killed one: held ones stay held, as long as the daemon keeps
/// them, and waiting ones are requested again.
extension ReconnectingSession {
    /// How long a claim waits for another daemon before it counts as lost. A daemon that takes over keeps claims for
    /// two seconds from its start.
    package static let awayLimit = Duration.seconds(5)

    /// Like ``ControlSession/claim(_:onProgress:onLoss:completion:)``.
    ///
    /// - Returns: The number of the claim, for ``abandon(_:)``.
    @discardableResult
    package func claim(
        _ request: ClaimRequest, onProgress: (@Sendable (ClaimProgress) -> Void)? = nil,
        onLoss: (@Sendable (ClaimEnded) -> Void)? = nil,
        completion: @escaping @Sendable (Result<GrantedClaim, ClaimFailure>) -> Void
    ) -> UInt64 {
        var request = request
        let number = ControlSession.nextNumber()
        request.claim = number
        let claim = ReturningClaim(request, onProgress: onProgress, onLoss: onLoss, completion)
        let isClosed = state.withLock { state in
            if !state.isClosed { state.claims[number] = claim }
            return state.isClosed
        }
        guard !isClosed else {
            claim.fail(.control(.cancelled))
            return number
        }
        whenConnected { [weak self] result in
            switch result {
            case .success(let session): self?.send(number, to: session)
            case .failure(let error): self?.notConnected(number)?.fail(.control(error))
            }
        }
        return number
    }

    /// There is no daemon for a claim: it waits for one that takes over.
    ///
    /// - Returns: The claim if there will be none.
    private func notConnected(_ number: UInt64) -> ReturningClaim? {
        state.withLock { state in
            guard state.awaitsReturn, !state.isClosed else { return state.claims.removeValue(forKey: number) }
            state.claims[number]?.away = state.lossCount
            return nil
        }
    }

    /// Ends the wait for a claim, which fails with ``ControlError/cancelled``; does nothing to a granted claim.
    package func abandon(_ number: UInt64) {
        let (claim, session) = state.withLock { state in
            let isWaiting = state.claims[number]?.isWaiting ?? false
            return (isWaiting ? state.claims.removeValue(forKey: number) : nil, state.session)
        }
        guard let claim else { return }
        session?.abandon(number)
        claim.fail(.control(.cancelled))
    }

    /// Releases a claim. Does nothing to one that is lost already.
    package func release(_ claim: GrantedClaim, completion: @escaping @Sendable () -> Void) {
        let number = claim.claim
        let session = state.withLock { state -> ControlSession? in
            guard let known = state.claims[number] else { return nil }
            if known.away != nil, case .held(let session) = known.phase {
                state.claims[number]?.phase = .released(session: session)
                return nil
            }
            state.claims[number] = nil
            return state.session
        }
        guard let session else { return completion() }
        session.release(claim, completion: completion)
    }

    package func cancelCoordinator(_ name: String) {
        let (session, cancelled) = state.withLock { state in
            let waiting = state.claims.filter { _, claim in
                claim.away != nil && claim.isWaiting && claim.coordinator.map { $0.isBytewiseEqual(to: name) } ?? false
            }
            for number in waiting.keys { state.claims[number] = nil }
            return (state.session, waiting.values)
        }
        session?.cancelCoordinator(name)
        for claim in cancelled { claim.fail(.control(.cancelled)) }
    }

    // MARK: At a daemon

    private func send(_ number: UInt64, to session: ControlSession) {
        let claim = state.withLock { state in
            state.claims[number]?.away = nil
            return state.claims[number]
        }
        guard let claim else { return }
        session.claim(
            claim.nextRequest, number: number, onProgress: claim.onProgress,
            onLoss: { [weak self] end in self?.ended(number, .ended(end), isLoss: true, in: session) },
            completion: { [weak self] result in
                switch result {
                case .success(let granted): self?.granted(granted, in: session)
                case .failure(let failure): self?.ended(number, failure, isLoss: false, in: session)
                }
            })
    }

    private func granted(_ granted: GrantedClaim, in session: ControlSession) {
        enum Step {
            case none
            case release
            case complete(ReturningClaim.Completion)
        }
        let step = state.withLock { state -> Step in
            guard let claim = state.claims[granted.claim] else { return .release }
            switch claim.phase {
            case .waiting(let completion):
                state.claims[granted.claim]?.phase = .held(session: session.client)
                return .complete(completion)
            case .held:
                state.claims[granted.claim]?.phase = .held(session: session.client)
                return .none
            case .released:
                state.claims[granted.claim] = nil
                return .release
            }
        }
        switch step {
        case .none: break
        case .release: session.release(granted) {}
        case .complete(let completion): completion(.success(granted))
        }
    }

    /// - Parameter isLoss: Whether it was granted in this session.
    private func ended(_ number: UInt64, _ failure: ClaimFailure, isLoss: Bool, in session: ControlSession) {
        let isOver =
            switch failure {
            case .control(.daemonUnreachable): true
            case .ended(let end): isLoss && end.code == .unreachable
            case .control, .refused: false
            }
        let claim = state.withLock { state -> ReturningClaim? in
            guard isOver, session.keepsClaims, !state.isClosed else { return state.claims.removeValue(forKey: number) }
            // Its loss may still have to be counted.
            state.claims[number]?.away = state.session === session ? state.lossCount + 1 : state.lossCount
            return nil
        }
        claim?.fail(failure)
    }

    // MARK: Without a daemon

    /// A session is lost: those that were in it are lost with it unless there is another one in time.
    func awaitReturn(ofThoseAwaySince loss: UInt64) {
        queue.asyncAfter(deadline: .now() + Self.awayLimit / .seconds(1)) { [weak self] in
            let lost = self?.state.withLock { state in
                if state.lossCount == loss { state.awaitsReturn = false }
                let lost = state.claims.filter { $0.value.away.map { $0 <= loss } ?? false }
                for number in lost.keys { state.claims[number] = nil }
                return lost.sorted { $0.key < $1.key }.map(\.value)
            }
            for claim in lost ?? [] { claim.fail(.control(.daemonUnreachable("the connection ended"))) }
        }
    }

    /// There is a daemon again: the claims of the former one go on, in the order in which they were made.
    func resumeClaims(in session: ControlSession) {
        for number in state.withLock({ state in state.claims.filter { $0.value.away != nil }.keys.sorted() }) {
            send(number, to: session)
        }
    }
}
