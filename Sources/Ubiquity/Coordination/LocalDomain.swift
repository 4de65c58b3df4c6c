import ControlClient
import Coordination
import Dispatch
import Glibc
import Model
import Synchronization

/// The claims and presenters of this process for files outside all containers: the lock table of the daemon, in this
/// process. Other processes are not coordinated with.
///
/// A serial queue carries out the table's decisions in their order, so that presenters get their messages in order.
final class LocalDomain: CoordinationDomain {
    static let shared = LocalDomain()

    /// Sorts before every mountpoint.
    let rank = ""

    struct Call: Sendable {
        var urls: [URL]
        let items: [AccessRequest.Item]
        let presenter: UInt64?
        /// `nil` once the claim is granted.
        var completion: (@Sendable (Result<DomainClaim, NSError>) -> Void)?
        /// The files of the items when the claim was granted.
        var before: [FileStamp?] = []
        /// Moves that the program reported.
        var moves: [(from: URL, to: URL)] = []
    }

    struct State {
        var table = LockTable()
        var calls: [ClaimSetID: Call] = [:]
        var mailboxes: [PresenterID: PresenterMailbox] = [:]
        var lastSet: UInt64 = 0
        /// When the timer fires; `nil` when none is set.
        var timer: Instant?
    }

    private let queue = DispatchQueue(label: "dewpoint.local-coordination")
    private let state = Mutex(State())
    private static let client = ClientID(1)

    private init() {}

    private var now: Instant {
        var time = timespec()
        // Cannot fail for this clock.
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    // MARK: Claims

    func claim(
        _ request: AccessRequest, completion: @escaping @Sendable (Result<DomainClaim, NSError>) -> Void
    ) {
        queue.async { [self] in
            do {
                let claims = try request.items.map { item in
                    Claim(item.access.kind, try LocalPlaces.item(at: item.url.path))
                }
                try begin(request, claims, completion)
            } catch let error as FileError {
                completion(.failure(NSError(error, url: request.items.first?.url)))
            } catch ClaimError.cancelled {
                completion(.failure(CoordinationFailure.cancelled))
            } catch {
                completion(.failure(CoordinationFailure.locking("\(error)", request.items.first?.url)))
            }
        }
    }

    private func begin(
        _ request: AccessRequest, _ claims: [Claim],
        _ completion: @escaping @Sendable (Result<DomainClaim, NSError>) -> Void
    ) throws {
        try change { state, now in
            state.lastSet += 1
            let id = ClaimSetID(state.lastSet)
            let set = ClaimSet(
                id, mode: request.isBatch ? .batch : .access, client: Self.client, process: ProcessID(getpid()),
                coordinator: CoordinatorID(request.coordinator), purpose: PurposeID(request.purpose),
                presenter: request.presenter.map { PresenterID($0) },
                fromPresenter: request.fromPresenter.map { PresenterID($0) },
                within: request.within.map { ClaimSetID($0.number) }, claims: claims)
            let effects = try state.table.request(set, now: now)
            state.calls[id] = Call(
                urls: request.items.map(\.url), items: request.items, presenter: request.presenter,
                completion: completion)
            return effects
        }
    }

    func release(_ claim: DomainClaim, completion: @escaping @Sendable () -> Void) {
        queue.async { [self] in
            let set = ClaimSetID(claim.number)
            if let call = state.withLock({ $0.calls.removeValue(forKey: set) }) { publishChanges(of: call) }
            change { state, now in state.table.release(set, now: now) }
            completion()
        }
    }

    func cancel(coordinator: String) {
        queue.async { [self] in
            change { state, now in
                state.table.cancel(CoordinatorID(coordinator), of: Self.client, now: now)
            }
        }
    }

    // MARK: Presenters

    func present(
        _ presenter: RegisteredPresenter, at url: URL, completion: @escaping @Sendable (NSError?) -> Void
    ) {
        queue.async { [self] in
            do {
                let id = PresenterID(presenter.number)
                let item = try LocalPlaces.item(at: url.path)
                let observed = presenter.presenter?.observedPresentedItemUbiquityAttributes ?? []
                let mailbox = PresenterMailbox(
                    presenter, url: { Self.url($0) }, answer: { [weak self] in self?.answer($0) })
                try state.withLock { state in
                    try state.table.register(
                        Presenter(
                            id, client: Self.client, process: ProcessID(getpid()), item: item,
                            purpose: PurposeID(presenter.purpose),
                            observedAttributes: observed.isEmpty ? nil : Set(observed.map(\.rawValue))))
                    state.mailboxes[id] = mailbox
                }
                completion(nil)
            } catch {
                completion(CoordinationFailure.locking("\(error)", url))
            }
        }
    }

    func withdraw(_ presenter: RegisteredPresenter) {
        let id = PresenterID(presenter.number)
        state.withLock { $0.mailboxes.removeValue(forKey: id) }?.close()
        queue.async { [self] in
            change { state, now in state.table.unregister(id, now: now) }
        }
    }

    private func answer(_ reply: PresenterReply) {
        queue.async { [self] in
            let answer: Coordination.PresenterAnswer =
                reply.error.map { .failed($0) } ?? (reply.reacquires == true ? .willReacquire : .done)
            change { state, now in
                state.table.answered(QuestionID(rawValue: reply.question), answer, now: now)
            }
        }
    }

    private static func url(_ path: String) -> URL {
        URL(fileURLWithPath: path, isDirectory: FileStamp(path)?.isDirectory ?? false)
    }

    // MARK: Changes of files

    func moved(_ old: URL, to new: URL, within claims: [HeldClaim], by presenter: UInt64?) {
        queue.async { [self] in
            state.withLock { state in
                // Published at the release, with everything else that the accessor did.
                guard let set = claims.last.map({ ClaimSetID($0.number) }) else { return }
                state.calls[set]?.moves.append((old, new))
            }
        }
    }

    func changedUbiquityAttributes(_ keys: Set<String>, of url: URL, by presenter: UInt64?) {
        queue.async { [self] in
            guard let item = try? LocalPlaces.item(at: url.path) else { return }
            publish(.ubiquityAttributes(keys, item), url.path, by: presenter)
        }
    }

    /// Notifies presenters of what an accessor did, by comparing its items before and after.
    private func publishChanges(of call: Call) {
        for change in LocalChanges.of(call) {
            let awaiting =
                if case .moved(_, let to) = change.event { state.withLock { $0.table.presentersAwaiting(to) } } else {
                    Set<PresenterID>()
                }
            apply(change)
            publish(change.event, change.path, from: change.from, by: call.presenter, awaiting: awaiting)
        }
    }

    private func apply(_ change: LocalChange) {
        self.change { state, now in
            switch change.event {
            case .appeared(let item): state.table.appeared(item, now: now)
            case .deleted(let item):
                item.inode.map { state.table.disappeared($0, now: now) } ?? []
            case .moved(_, let to):
                to.inode.map { state.table.moved($0, to: to, replacing: change.replaced, now: now) } ?? []
            case .changed(let item):
                // An atomic save: the name is that of another file now.
                change.replaced.flatMap { old in
                    item.inode.map {
                        state.table.moved($0, to: item, replacing: old, isSameItem: true, now: now)
                    }
                } ?? []
            case .version, .ubiquityAttributes: []
            }
        }
    }

    private func publish(
        _ event: ItemEvent, _ path: String, from: String? = nil, by presenter: UInt64?,
        awaiting: Set<PresenterID> = []
    ) {
        let (notices, mailboxes) = state.withLock { state in
            let presenter = presenter.map { PresenterID($0) }
            return (state.table.notices(of: event, by: presenter, awaiting: awaiting), state.mailboxes)
        }
        for (id, notice) in notices {
            var news = PresenterNews(presenter: id.rawValue, notice: notice.method, path: path)
            news.from = from
            if case .didChangeUbiquityAttributes(let keys) = notice { news.keys = keys.sorted() }
            _ = mailboxes[id]?.push(.notice(news))
        }
    }

    // MARK: The table

    /// Runs on the queue.
    private func change(_ body: (inout State, Instant) throws -> [Effect]) rethrows {
        let effects = try state.withLock { try body(&$0, now) }
        for case .claim(let effect) in effects { carryOut(effect) }
        setTimer()
    }

    private func carryOut(_ effect: ClaimEffect) {
        switch effect {
        case .granted(let set): granted(set)
        case .ended(let set, let end): ended(set, end)
        case .ask(let question):
            let mailbox = state.withLock { $0.mailboxes[question.presenter] }
            var asked = PresenterQuestion(
                question: question.id.rawValue, presenter: question.presenter.rawValue,
                message: question.message.method)
            asked.path = state.withLock { $0.calls[question.set]?.urls.first?.path }
            _ = mailbox?.push(.ask(asked))
        case .reacquire(let presenter, let question):
            _ = state.withLock { $0.mailboxes[presenter] }?.push(.reacquire(question: question.rawValue))
        case .download(let set, _):
            // All bytes are local.
            change { state, now in state.table.downloaded(set, now: now) }
        case .locate, .unresponsive, .deadlock:
            // There are no plain writers in this table, and slow presenters are waited for, as on Apple's systems.
            break
        }
    }

    private func granted(_ set: ClaimSetID) {
        let grant = state.withLock { state -> (Call, @Sendable (Result<DomainClaim, NSError>) -> Void)? in
            guard var call = state.calls[set], let completion = call.completion else { return nil }
            call.completion = nil
            call.before = call.urls.map { FileStamp($0.path) }
            state.calls[set] = call
            return (call, completion)
        }
        guard let (call, completion) = grant else { return }
        completion(.success(DomainClaim(number: set.rawValue, urls: call.urls)))
    }

    private func ended(_ set: ClaimSetID, _ end: ClaimEnd) {
        guard let call = state.withLock({ $0.calls.removeValue(forKey: set) }) else { return }
        call.completion?(.failure(CoordinationFailure.error(end, call.urls.first)))
    }

    private func setTimer() {
        let now = now
        let next = state.withLock { state -> Instant? in
            guard let deadline = state.table.nextDeadline, state.timer.map({ deadline < $0 }) ?? true else {
                return nil
            }
            state.timer = deadline
            return deadline
        }
        guard let next else { return }
        let delay = max((next - now) / .seconds(1), 0)
        queue.asyncAfter(deadline: .now() + delay) { [self] in
            state.withLock { $0.timer = nil }
            change { state, now in state.table.timePassed(now: now) }
        }
    }
}
