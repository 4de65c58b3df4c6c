import Model

/// A claim of a ``ReconnectingSession``, which goes on with the daemon that takes the place of a killed one.
struct ReturningClaim: Sendable {
    typealias Completion = @Sendable (Result<GrantedClaim, ClaimFailure>) -> Void

    enum Phase {
        case waiting(Completion)
        /// - Parameter session: The number of the session in which it was granted last.
        case held(session: UInt64)
        /// Released while there was no daemon: it is to be released as soon as there is one.
        case released(session: UInt64)
    }

    private let request: ClaimRequest
    /// When a waiting one has waited long enough; `nil` without a limit.
    private let deadline: ContinuousClock.Instant?
    let onProgress: (@Sendable (ClaimProgress) -> Void)?
    let onLoss: (@Sendable (ClaimEnded) -> Void)?
    var phase: Phase
    /// The loss of a session, by its number, since which it is at no daemon; `nil` while it is at one.
    var away: UInt64?

    init(
        _ request: ClaimRequest, onProgress: (@Sendable (ClaimProgress) -> Void)?,
        onLoss: (@Sendable (ClaimEnded) -> Void)?, _ completion: @escaping Completion
    ) {
        self.request = request
        deadline = request.timeoutSeconds.map { .now + .seconds($0) }
        self.onProgress = onProgress
        self.onLoss = onLoss
        phase = .waiting(completion)
    }

    var isWaiting: Bool { if case .waiting = phase { true } else { false } }

    var coordinator: String? { request.coordinator }

    /// What a daemon is to be asked now.
    var nextRequest: ClaimRequest {
        var next = request
        switch phase {
        case .waiting:
            // The rest of the time; the daemon refuses none at all.
            if let deadline { next.timeoutSeconds = max((deadline - .now) / .seconds(1), 0.001) }
        case .held(let session), .released(let session):
            next.heldBy = session
        }
        return next
    }

    /// Tells its owner that it is over.
    func fail(_ failure: ClaimFailure) {
        switch phase {
        case .waiting(let completion): completion(.failure(failure))
        case .held: onLoss?(ClaimEnded(failure, claim: request.claim))
        case .released: break
        }
    }
}

extension ClaimEnded {
    /// Of a claim that was granted.
    fileprivate init(_ failure: ClaimFailure, claim: UInt64) {
        switch failure {
        case .ended(let end):
            self.init(claim: claim, reason: .revoked, code: end.code, message: end.message)
        case .refused(let error):
            self.init(claim: claim, reason: .revoked, code: error.code, message: error.detail)
        case .control(let error):
            self.init(claim: claim, reason: .revoked, code: .unreachable, message: "the claim was lost: \(error)")
        }
    }
}
