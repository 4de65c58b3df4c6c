import ControlClient
import Model
import Synchronization

/// Delivers the messages of one domain to a presenter, on its queue and in order: see ``QueueWork``.
final class PresenterMailbox: PresenterInbox {
    private let registered: RegisteredPresenter
    private let url: @Sendable (_ path: String) -> URL
    private let answer: @Sendable (PresenterReply) -> Void
    private let state = Mutex(State())

    private struct State {
        /// What presenters passed with their answers, by question, until the claim is over.
        var reacquirers: [UInt64: @Sendable () -> Void] = [:]
        /// Messages on the presenter's queue.
        var pending = 0
        var isClosed = false
    }

    /// How many messages may wait on a presenter's queue: as many as the daemon queues for a session.
    static let messageLimit = 8192

    /// - Parameters:
    ///   - url: Makes a URL of a path in the domain.
    ///   - answer: Sends an answer.
    init(
        _ registered: RegisteredPresenter, url: @escaping @Sendable (_ path: String) -> URL,
        answer: @escaping @Sendable (PresenterReply) -> Void
    ) {
        self.registered = registered
        self.url = url
        self.answer = answer
    }

    func push(_ message: PresenterMessage) -> Bool {
        guard let presenter = registered.presenter else {
            // Deallocated without being removed.
            PresenterRegistry.shared.forget(registered)
            if case .ask(let question) = message { answer(PresenterReply(question: question.question)) }
            return true
        }
        let isAccepted = state.withLock { state in
            guard !state.isClosed else { return true }
            state.pending += 1
            return state.pending <= Self.messageLimit
        }
        guard isAccepted else { return false }
        // Not retained while it waits: it may be removed and deallocated meanwhile.
        let delivery = { @Sendable [self, registered] in
            let isClosed = state.withLock { state in
                state.pending -= 1
                return state.isClosed
            }
            guard !isClosed, let presenter = registered.presenter else {
                if case .ask(let question) = message { answer(PresenterReply(question: question.question)) }
                return
            }
            // Nobody waits for the end of a notice's handler.
            guard case .ask = message else { return deliver(message, to: presenter) }
            CoordinationThread.delivering(to: registered.number) { deliver(message, to: presenter) }
        }
        QueueWork.shared.add(to: presenter.presentedItemOperationQueue, delivery)
        return true
    }

    func close() {
        let reacquirers = state.withLock { state in
            defer {
                state.isClosed = true
                state.reacquirers = [:]
            }
            return state.reacquirers.sorted { $0.key < $1.key }.map(\.value)
        }
        // The claim for which it relinquished the item was that of the move.
        guard registered.isLeaving, let presenter = registered.presenter else { return }
        for reacquirer in reacquirers { QueueWork.shared.add(to: presenter.presentedItemOperationQueue, reacquirer) }
    }

    private func deliver(_ message: PresenterMessage, to presenter: any NSFilePresenter) {
        switch message {
        case .ask(let question): ask(question, presenter)
        case .reacquire(let question): state.withLock { $0.reacquirers.removeValue(forKey: question) }?()
        case .notice(let news): notify(news, presenter)
        }
    }

    // MARK: Questions

    private func ask(_ question: PresenterQuestion, _ presenter: any NSFilePresenter) {
        switch question.message {
        case .relinquishToReader: presenter.relinquishPresentedItem(toReader: relinquished(question.question))
        case .relinquishToWriter: presenter.relinquishPresentedItem(toWriter: relinquished(question.question))
        case .save: presenter.savePresentedItemChanges(completionHandler: answered(question.question))
        case .accommodateDeletion:
            presenter.accommodatePresentedItemDeletion(completionHandler: answered(question.question))
        case .accommodateEviction:
            presenter.accommodatePresentedItemEviction(completionHandler: answered(question.question))
        case .accommodateSubitemDeletion:
            presenter.accommodatePresentedSubitemDeletion(
                at: url(question.path ?? ""), completionHandler: answered(question.question))
        case .didChange, .didMove, .didChangeUbiquityAttributes, .didGainVersion, .didLoseVersion,
            .didResolveConflictVersion, .subitemDidAppear, .subitemDidChange, .subitemDidMove, .subitemDidGainVersion,
            .subitemDidLoseVersion, .subitemDidResolveConflictVersion:
            // Not questions: a daemon of another version.
            answer(PresenterReply(question: question.question))
        }
    }

    private func relinquished(_ question: UInt64) -> @Sendable ((@Sendable () -> Void)?) -> Void {
        let once = Once()
        return { [self] reacquirer in
            guard once.isFirst else { return }
            if let reacquirer { state.withLock { $0.reacquirers[question] = reacquirer } }
            answer(PresenterReply(question: question, reacquires: reacquirer == nil ? nil : true))
        }
    }

    private func answered(_ question: UInt64) -> @Sendable ((any Error)?) -> Void {
        let once = Once()
        return { [self] error in
            guard once.isFirst else { return }
            let text = error.map { PresenterErrors.shared.note($0 as NSError) }
            answer(PresenterReply(question: question, error: text))
        }
    }

    // MARK: Notices

    private func notify(_ news: PresenterNews, _ presenter: any NSFilePresenter) {
        let item = url(news.path ?? "")
        func version(of item: URL) -> NSFileVersion { NSFileVersion(item: item, id: news.version ?? "") }
        switch news.notice {
        case .didChange:
            registered.noteSeen()
            presenter.presentedItemDidChange()
        case .didMove:
            registered.follow(to: item)
            registered.noteSeen()
            presenter.presentedItemDidMove(to: item)
        case .didChangeUbiquityAttributes:
            let keys = Set((news.keys ?? []).map { URLResourceKey(rawValue: $0) })
            presenter.presentedItemDidChangeUbiquityAttributes(keys)
        case .didGainVersion: own { presenter.presentedItemDidGain(version(of: $0)) }
        case .didLoseVersion: own { presenter.presentedItemDidLose(version(of: $0)) }
        case .didResolveConflictVersion: own { presenter.presentedItemDidResolveConflict(version(of: $0)) }
        case .subitemDidAppear: presenter.presentedSubitemDidAppear(at: item)
        case .subitemDidChange: presenter.presentedSubitemDidChange(at: item)
        case .subitemDidMove: presenter.presentedSubitem(at: url(news.from ?? ""), didMoveTo: item)
        case .subitemDidGainVersion: presenter.presentedSubitem(at: item, didGain: version(of: item))
        case .subitemDidLoseVersion: presenter.presentedSubitem(at: item, didLose: version(of: item))
        case .subitemDidResolveConflictVersion: presenter.presentedSubitem(at: item, didResolve: version(of: item))
        case .relinquishToReader, .relinquishToWriter, .save, .accommodateDeletion, .accommodateSubitemDeletion,
            .accommodateEviction:
            break  // questions, never sent as notices
        }
    }

    /// A notice about a version of the presented item, which has no path.
    private func own(_ body: (URL) -> Void) {
        if let url = registered.presenter?.presentedItemURL { body(url) }
    }
}

/// A handler that a program may call several times, of which only the first counts.
private final class Once: Sendable {
    private let isDone = Atomic(false)
    var isFirst: Bool { !isDone.exchange(true, ordering: .acquiringAndReleasing) }
}

/// The errors with which presenters of this process answered lately: the daemon passes on only their texts, and the
/// caller may be in this process.
final class PresenterErrors: Sendable {
    static let shared = PresenterErrors()

    /// How many errors are kept.
    private static let limit = 64
    private let recent = Mutex<[(text: String, error: SendableError)]>([])

    /// - Returns: The text to send.
    func note(_ error: NSError) -> String {
        let text = String(error.localizedDescription.prefix(PresenterAnswer.errorLimit))
        recent.withLock { recent in
            recent.removeAll { $0.text == text }
            if recent.count >= Self.limit { recent.removeFirst() }
            recent.append((text, SendableError(error)))
        }
        return text
    }

    /// The error whose text ends a message of the daemon.
    func error(endingOf message: String) -> NSError? {
        recent.withLock { recent in recent.last { message.hasSuffix($0.text) }?.error.error }
    }
}

/// Unchecked, since `NSError` is not declared Sendable: it is immutable, as Foundation documents it.
struct SendableError: @unchecked Sendable {
    let error: NSError
    init(_ error: NSError) { self.error = error }
}
