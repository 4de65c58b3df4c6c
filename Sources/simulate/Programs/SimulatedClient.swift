import FileSystem
import Glibc
import Model
import Replica
import Synchronization
import VirtualTime

/// A program's session with one run of the daemon, as the control API would keep it: claims, presenters, and a check of
/// every event against what was requested.
///
///     asked ──▶ granted ──▶ released
///       │          └──────▶ ended: revoked
///       └─────────────────▶ ended: cancelled, timed out, refused
final class SimulatedClient: Sendable {
    /// The end of the wait for a claim.
    enum Outcome: Sendable, Equatable {
        case granted
        case ended(ClaimEnded)
        /// The wait was interrupted; the claim goes on.
        case interrupted
    }

    private enum Phase { case asked, granted, over }

    private struct Asked {
        let request: ClaimRequest
        var phase = Phase.asked
        var outcome: Outcome?
        var paths: [String] = []
        var waiter: CheckedContinuation<Outcome, Never>?
    }

    private struct State {
        var session: SessionID?
        var isOver = false
        var claims: [UInt64: Asked] = [:]
        var presenters: [UInt64: SimulatedPresenter] = [:]
        /// Answered questions whose presenters are to be notified when the claim is over.
        var reacquirers: Set<UInt64> = []
        var asked: Set<UInt64> = []
        var lastName: UInt64 = 0
        var random: SeededRandom
    }

    private let device: SimulatedDevice
    private let label: String
    private let fileSystem: FileSystem
    /// The other end of the pipe that stands for the process.
    private let life: Int32
    private let state: Mutex<State>

    private var world: World { device.world }

    /// Opens a session.
    /// - Parameter process: It need not exist: a pipe to which nobody writes stands for it.
    init(_ device: SimulatedDevice, label: String, process: Int32, fileSystem: FileSystem) throws(FileError) {
        self.device = device
        self.label = label
        self.fileSystem = fileSystem
        var ends: [Int32] = [-1, -1]
        pipe(&ends)
        life = ends[1]
        state = Mutex(
            State(random: SeededRandom(seed: device.world.seed, stream: "client \(label) at \(device.world.clock.now)"))
        )
        let session = try fileSystem.claims.open(process: process, descriptor: ends[0]) {
            [weak self] event in
            self?.receive(event)
        } whenGone: {
        }
        state.withLock { $0.session = session }
    }

    /// `nil` once it is over.
    var session: SessionID? { state.withLock { $0.isOver ? nil : $0.session } }

    func newName() -> UInt64 {
        state.withLock { state in
            state.lastName += 1
            return state.lastName
        }
    }

    /// Ends the session, as the end of the program does.
    func end() {
        let (session, waiters) = state.withLock { state -> (SessionID?, [CheckedContinuation<Outcome, Never>]) in
            guard !state.isOver else { return (nil, []) }
            state.isOver = true
            let waiters = state.claims.keys.sorted().compactMap { state.claims[$0]?.waiter.take() }
            return (state.session, waiters)
        }
        guard let session else { return }
        for claim in device.programs.claims.claims(of: label) { device.programs.claims.end(claim.name, of: label) }
        world.trace.note("\(label) ends its session")
        fileSystem.claims.close(session)
        close(life)
        for waiter in waiters { waiter.resume(returning: .interrupted) }
    }

    // MARK: Claims

    func add(_ request: ClaimRequest) { state.withLock { $0.claims[request.claim] = Asked(request: request) } }

    /// The claim was refused, or is released.
    func forget(_ claim: UInt64) { state.withLock { $0.claims[claim]?.phase = .over } }

    /// Waits for the end of the wait.
    func outcome(of claim: UInt64) async -> Outcome {
        await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Outcome, Never>) in
                let outcome = state.withLock { state -> Outcome? in
                    if let outcome = state.claims[claim]?.outcome { return outcome }
                    guard !Task.isCancelled, !state.isOver else { return .interrupted }
                    state.claims[claim]?.waiter = continuation
                    return nil
                }
                if let outcome { continuation.resume(returning: outcome) }
            }
        } onCancel: {
            let waiter = state.withLock { $0.claims[claim]?.waiter.take() }
            waiter?.resume(returning: .interrupted)
        }
    }

    /// The items of a granted claim, where they were when it was granted.
    func paths(of claim: UInt64) -> [String] { state.withLock { $0.claims[claim]?.paths ?? [] } }

    // MARK: Presenters

    var presenters: [UInt64] { state.withLock { $0.presenters.keys.sorted() } }

    func add(_ presenter: SimulatedPresenter) { state.withLock { $0.presenters[presenter.name] = presenter } }

    func withdraw(_ name: UInt64) throws {
        guard let session, state.withLock({ $0.presenters.removeValue(forKey: name) }) != nil else { return }
        world.trace.note("\(label) withdraws presenter \(name)")
        try fileSystem.claims.withdraw(name, of: session)
    }

    // MARK: Events

    private func receive(_ event: SessionEvent) {
        if state.withLock({ $0.isOver }) { return }
        world.trace.note("\(label) receives \(event)")
        do {
            switch event {
            case .granted(let claim, _, let paths): try granted(claim, paths)
            case .ended(let end): try ended(end)
            case .waiting(let claim, _): try check(claim, is: .asked, event)
            case .ask(let question): try asked(question)
            case .reacquire(_, let question):
                guard state.withLock({ $0.reacquirers.remove(question) }) != nil else {
                    throw Violation("\(label) is told to reacquire without having asked for it: \(question)")
                }
            case .downloading, .notice, .registered, .released: break
            case .welcome, .refused: throw Violation("\(label) receives \(event)")
            }
        } catch {
            world.report(Violation("\(error)"))
        }
    }

    private func check(_ claim: UInt64, is phase: Phase, _ event: SessionEvent) throws(Violation) {
        guard state.withLock({ $0.claims[claim]?.phase }) == phase else {
            throw Violation("\(label) receives \(event) for a claim in another state")
        }
    }

    private func granted(_ claim: UInt64, _ paths: [String]) throws {
        try check(claim, is: .asked, .granted(claim: claim, id: 0, paths: paths))
        let (request, waiter) = state.withLock { state -> (ClaimRequest?, CheckedContinuation<Outcome, Never>?) in
            state.claims[claim]?.phase = .granted
            state.claims[claim]?.outcome = .granted
            state.claims[claim]?.paths = paths
            return (state.claims[claim]?.request, state.claims[claim]?.waiter.take())
        }
        waiter?.resume(returning: .granted)
        guard let request, !device.isDown else { return }
        let items = try zip(request.items, paths).map {
            try HeldClaims.Item($0, request.mode ?? .access, at: $1, on: device)
        }
        try device.programs.claims.begin(
            HeldClaims.Claim(
                holder: label, name: claim, granted: world.clock.now,
                isExclusive: request.mode != .batch && request.purpose == nil, items: items), on: device)
    }

    private func ended(_ end: ClaimEnded) throws {
        let (phase, waiter) = state.withLock { state -> (Phase?, CheckedContinuation<Outcome, Never>?) in
            let phase = state.claims[end.claim]?.phase
            state.claims[end.claim]?.phase = .over
            state.claims[end.claim]?.outcome = .ended(end)
            return (phase, state.claims[end.claim]?.waiter.take())
        }
        device.programs.claims.end(end.claim, of: label)
        waiter?.resume(returning: .ended(end))
        guard phase == .asked || (phase == .granted && end.reason == .revoked) else {
            throw Violation("\(label): claim \(end.claim) ends in another state: \(end)")
        }
    }

    private func asked(_ question: PresenterQuestion) throws(Violation) {
        let reaction = state.withLock { state -> SimulatedPresenter.Reaction? in
            guard state.asked.insert(question.question).inserted else { return nil }
            return state.presenters[question.presenter]?.reaction(to: question, random: &state.random)
        }
        guard let reaction else {
            throw Violation("\(label) is asked twice, or for a presenter that it has not: \(question)")
        }
        Task(executorPreference: world.executor) { [self] in
            // It is never cancelled.
            try? await world.clock.sleep(reaction.delay)
            react(reaction, to: question)
        }
    }

    private func react(_ reaction: SimulatedPresenter.Reaction, to question: PresenterQuestion) {
        guard session != nil, !device.isDown else { return }
        guard let reply = reaction.reply else {
            if state.withLock({ $0.random.happens(0.5) }) { return end() }
            return withdrawIfThere(question.presenter)
        }
        if reaction.withdraws { withdrawIfThere(question.presenter) }
        if reply.reacquires == true, state.withLock({ $0.presenters[question.presenter] != nil }) {
            _ = state.withLock { $0.reacquirers.insert(question.question) }
        }
        world.trace.note("\(label) answers question \(question.question)")
        fileSystem.claims.answer(reply)
    }

    private func withdrawIfThere(_ presenter: UInt64) {
        do { try withdraw(presenter) } catch { world.report(Violation("\(label): withdrawing \(presenter): \(error)")) }
    }
}

extension HeldClaims.Item {
    /// - Throws: ``Violation`` when the bytes are not here that the claim is for.
    init(_ item: ClaimRequest.Item, _ mode: ClaimRequest.Mode, at path: String, on device: SimulatedDevice) throws {
        let replica = try device.fileSystem.replica
        place = try replica.read { try $0.resolvedPath(at: path) }
        isWritten = item.writing != nil
        isDeep = ["forDeleting", "forMoving", "forReplacing"].contains(item.writing)
        inode = place.inode
        if let name = place.name, let parent = place.directories.last?.inode, place.inode != nil {
            self.item = try replica.read { try $0.existingEntry(name, in: parent).item }
        }
        guard let inode, place.kind == .file else { return }
        let hasNewest = try !replica.read { try $0.inode(inode).hasIncoming }
        if hasNewest { shown = try device.content(of: inode) }
        let wantsBytes =
            item.reading.map { !$0.contains("immediatelyAvailableMetadataOnly") }
            ?? ["plain", "forMerging"].contains(item.writing)
        guard wantsBytes, mode == .access else { return }
        guard try replica.read({ try $0.isLocal(inode) }) else {
            throw Violation("\(device.name): \(path) is granted without its bytes")
        }
        guard hasNewest || device.world.scenario.hasTrouble else {
            throw Violation("\(device.name): \(path) is granted with old bytes")
        }
    }
}
