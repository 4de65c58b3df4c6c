import ControlAPI
import Model

/// The pending calls and held claims of a session: a state machine without I/O. Each event returns the effects to
/// perform.
///
/// The states of a claim; a grant of an unknown claim is released:
///
///     waiting ─granted→ held ─release→ releasing ─released→ gone
///        │  └─ended→ gone               └─ended→ gone (lost)
///        └─caller cancelled→ abandoned ─granted→ gone, and released;  ─ended→ gone
struct SessionLedger {
    typealias ClaimResult = Result<GrantedClaim, ClaimFailure>
    typealias ClaimAnswer = @Sendable (ClaimResult) -> Void
    typealias Answer = @Sendable (Result<Void, ControlError>) -> Void
    typealias Loss = @Sendable (ClaimEnded) -> Void

    /// A call that waits for its claim.
    struct Call {
        let answer: ClaimAnswer
        let onProgress: (@Sendable (ClaimProgress) -> Void)?
        let onLoss: Loss?
    }

    /// A call that waits for an answer that the daemon can give at once. `call` is `nil` once the caller has stopped
    /// waiting.
    struct Pending {
        let number: UInt64
        var call: Answer?
        let since: ContinuousClock.Instant
    }

    private enum Claim {
        case waiting(Call)
        case held(Loss?)
        case releasing(Pending)
        case abandoned
    }

    private struct Presenter {
        let inbox: any PresenterInbox
        /// Unanswered requests, in order: registrations and, at the end, a withdrawal.
        var pending: [Pending] = []
        var isRegistered = false
        var isWithdrawn = false
    }

    enum Effect {
        case send(SessionRequest)
        /// A request already encoded as a line.
        case write([UInt8])
        case resume(ClaimAnswer, ClaimResult)
        case finish(Answer, Result<Void, ControlError>)
        case progress(@Sendable (ClaimProgress) -> Void, ClaimProgress)
        case lose(Loss, ClaimEnded)
        case deliver(any PresenterInbox, PresenterMessage)
        case close(any PresenterInbox)
    }

    /// The daemon's id of the session; `nil` until it has sent a welcome.
    private(set) var client: UInt64?
    /// Whether claims outlive the daemon.
    private(set) var keepsClaims = false
    /// Why it is over; `nil` while it lasts.
    private(set) var end: ControlError?
    private var claims: [UInt64: Claim] = [:]
    private var presenters: [UInt64: Presenter] = [:]
    private var welcome: (answer: Answer, since: ContinuousClock.Instant)?
    private var endWaiters: [UInt64: Answer] = [:]

    /// How many claims a session may have waiting, held or being released; the daemon refuses more than 4096 in all.
    static let claimLimit = 8192

    // MARK: Calls

    mutating func awaitWelcome(_ answer: @escaping Answer, now: ContinuousClock.Instant) -> [Effect] {
        if let end { return [.finish(answer, .failure(end))] }
        if client != nil { return [.finish(answer, .success(()))] }
        welcome = (answer, now)
        return []
    }

    mutating func awaitEnd(_ answer: @escaping Answer, number: UInt64) -> [Effect] {
        if let end { return [.finish(answer, .failure(end))] }
        endWaiters[number] = answer
        return []
    }

    mutating func stopAwaitingEnd(number: UInt64) -> [Effect] {
        endWaiters.removeValue(forKey: number).map { [.finish($0, .failure(.cancelled))] } ?? []
    }

    /// - Parameter line: The request.
    mutating func claim(_ number: UInt64, line: [UInt8], _ call: Call) -> [Effect] {
        if let end { return [.resume(call.answer, .failure(.control(end)))] }
        guard claims.count < Self.claimLimit else {
            let refusal = FileError(.wouldBlock, "a session has at most \(Self.claimLimit) claims")
            return [.resume(call.answer, .failure(.refused(refusal)))]
        }
        claims[number] = .waiting(call)
        return [.write(line)]
    }

    /// The caller has stopped waiting.
    mutating func abandon(_ claim: UInt64) -> [Effect] {
        guard case .waiting(let call) = claims[claim] else { return [] }
        claims[claim] = .abandoned
        return [.send(.cancel(claim)), .resume(call.answer, .failure(.control(.cancelled)))]
    }

    mutating func release(_ claim: UInt64, _ answer: @escaping Answer, now: ContinuousClock.Instant) -> [Effect] {
        guard end == nil, case .held = claims[claim] else { return [.finish(answer, .success(()))] }
        claims[claim] = .releasing(Pending(number: claim, call: answer, since: now))
        return [.send(.release(claim))]
    }

    mutating func stopAwaitingRelease(_ claim: UInt64) -> [Effect] {
        guard case .releasing(var pending) = claims[claim], let call = pending.call else { return [] }
        pending.call = nil
        claims[claim] = .releasing(pending)
        return [.finish(call, .success(()))]
    }

    /// - Parameter inbox: Gets the inbox of a registered presenter, and returns the one to use from now on.
    mutating func present(
        _ number: UInt64, line: [UInt8], _ pending: Pending,
        inbox: (_ known: (any PresenterInbox)?) -> any PresenterInbox
    ) -> [Effect] {
        guard let call = pending.call else { return [] }
        if let end { return [.finish(call, .failure(end))] }
        let known = presenters[number]
        guard known?.isWithdrawn != true else {
            let refusal = FileError(.busy, "presenter \(number) is being withdrawn")
            return [.finish(call, .failure(.refused(refusal)))]
        }
        var presenter = Presenter(inbox: inbox(known?.inbox), pending: known?.pending ?? [])
        presenter.isRegistered = known?.isRegistered ?? false
        presenter.pending.append(pending)
        presenters[number] = presenter
        return [.write(line)]
    }

    mutating func withdraw(_ number: UInt64, _ pending: Pending) -> [Effect] {
        guard let call = pending.call else { return [] }
        guard end == nil, var presenter = presenters[number], !presenter.isWithdrawn else {
            return [.finish(call, .success(()))]
        }
        presenter.isWithdrawn = true
        presenter.pending.append(pending)
        presenters[number] = presenter
        return [.close(presenter.inbox), .send(.withdraw(number))]
    }

    /// The request stays sent, but its answer is no longer waited for.
    mutating func stopAwaitingRegistration(presenter: UInt64, number: UInt64) -> [Effect] {
        guard let index = presenters[presenter]?.pending.firstIndex(where: { $0.number == number }),
            let call = presenters[presenter]?.pending[index].call
        else { return [] }
        presenters[presenter]?.pending[index].call = nil
        return [.finish(call, .failure(.cancelled))]
    }

    /// - Returns: Whether an answer that the daemon can give at once is overdue.
    func isSilent(since limit: ContinuousClock.Instant) -> Bool {
        let releases = claims.values.contains { claim in
            if case .releasing(let pending) = claim { pending.since < limit } else { false }
        }
        if let welcome, welcome.since < limit { return true }
        return releases || presenters.values.contains { $0.pending.contains { $0.since < limit } }
    }

    // MARK: Events

    mutating func receive(_ event: SessionEvent) -> [Effect] {
        guard end == nil else { return [] }
        switch event {
        case .welcome(let number, let keepsClaims):
            client = number
            self.keepsClaims = keepsClaims
            defer { welcome = nil }
            return welcome.map { [.finish($0.answer, .success(()))] } ?? []
        case .waiting(let claim, let other): return progress(of: claim, .waiting(for: other))
        case .downloading(let claim, let done, let total):
            return progress(of: claim, .downloading(bytesDone: done, bytesTotal: total))
        case .granted(let claim, let id, let paths):
            return granted(GrantedClaim(claim: claim, id: id, paths: paths))
        case .released(let claim):
            guard case .releasing(let pending) = claims[claim] else { return [] }
            claims[claim] = nil
            return pending.call.map { [.finish($0, .success(()))] } ?? []
        case .ended(let end): return ended(end)
        case .ask(let question): return deliver(.ask(question), to: question.presenter)
        case .reacquire(let presenter, let question):
            return deliver(.reacquire(question: question), to: presenter)
        case .notice(let news): return deliver(.notice(news), to: news.presenter)
        case .registered(let presenter): return registered(presenter, .success(()))
        case .refused(let refusal): return refused(refusal)
        }
    }

    /// The connection is closed, and all claims are lost. A caller that closed it is not notified of lost claims.
    mutating func end(_ error: ControlError) -> [Effect] {
        guard end == nil else { return [] }
        end = error
        var effects: [Effect] = []
        for (number, claim) in claims.sorted(by: { $0.key < $1.key }) {
            switch claim {
            case .waiting(let call): effects.append(.resume(call.answer, .failure(.control(error))))
            case .held(let onLoss?) where error != .cancelled:
                let loss = ClaimEnded(
                    claim: number, reason: .revoked, code: .unreachable, message: "the claim was lost: \(error)")
                effects.append(.lose(onLoss, loss))
            case .releasing(let pending): effects += pending.call.map { [.finish($0, .success(()))] } ?? []
            case .held, .abandoned: break
            }
        }
        for presenter in presenters.values {
            effects.append(.close(presenter.inbox))
            effects += presenter.pending.compactMap(\.call).map { .finish($0, .failure(error)) }
        }
        effects += endWaiters.values.map { .finish($0, .failure(error)) }
        effects += welcome.map { [.finish($0.answer, .failure(error))] } ?? []
        claims = [:]
        presenters = [:]
        endWaiters = [:]
        welcome = nil
        return effects
    }

    private func progress(of claim: UInt64, _ progress: ClaimProgress) -> [Effect] {
        guard case .waiting(let call) = claims[claim], let onProgress = call.onProgress else { return [] }
        return [.progress(onProgress, progress)]
    }

    private mutating func granted(_ granted: GrantedClaim) -> [Effect] {
        switch claims[granted.claim] {
        case .waiting(let call):
            claims[granted.claim] = .held(call.onLoss)
            return [.resume(call.answer, .success(granted))]
        case .abandoned, nil:  // granted before the daemon had read the cancellation
            claims[granted.claim] = nil
            return [.send(.release(granted.claim))]
        case .held, .releasing: return []
        }
    }

    private mutating func ended(_ end: ClaimEnded) -> [Effect] {
        switch claims.removeValue(forKey: end.claim) {
        case .waiting(let call): [.resume(call.answer, .failure(.ended(end)))]
        case .held(let onLoss): onLoss.map { [.lose($0, end)] } ?? []
        case .releasing(let pending): pending.call.map { [.finish($0, .success(()))] } ?? []
        case .abandoned, nil: []
        }
    }

    private mutating func refused(_ refusal: RequestRefused) -> [Effect] {
        let error = FileError(refusal.code, refusal.message)
        if let presenter = refusal.presenter { return registered(presenter, .failure(.refused(error))) }
        // Without a welcome, the session itself was refused. Later it is a request that crossed with the end of a
        // claim: nothing to do.
        return client == nil ? end(.refused(error)) : []
    }

    private mutating func registered(_ number: UInt64, _ result: Result<Void, ControlError>) -> [Effect] {
        guard var presenter = presenters[number], !presenter.pending.isEmpty else { return [] }
        let call = presenter.pending.removeFirst().call
        if case .success = result { presenter.isRegistered = true }
        let isGone = presenter.pending.isEmpty && (presenter.isWithdrawn || !presenter.isRegistered)
        presenters[number] = isGone ? nil : presenter
        return (call.map { [.finish($0, result)] } ?? []) + (isGone ? [.close(presenter.inbox)] : [])
    }

    private func deliver(_ message: PresenterMessage, to presenter: UInt64) -> [Effect] {
        presenters[presenter].map { [.deliver($0.inbox, message)] } ?? []
    }
}
