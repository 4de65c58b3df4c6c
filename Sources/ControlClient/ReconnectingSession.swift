package import Model
import Synchronization

/// A ``ControlSession`` that reconnects after its daemon was gone, with its presenters.
///
/// Claims are not restored: held ones are reported as lost, and waiting calls throw. While there is no daemon, claims
/// fail with ``ControlError/daemonUnreachable(_:)``, and presenters are recorded for later.
///
///     connected ─connection ends→ away ─opened, presenters sent again→ connected
///         └──────────── close ──────┴──────────────────────────────→ closed
package final class ReconnectingSession: Sendable {
    /// A notification for the owner.
    package enum News: Equatable, Sendable {
        /// The connection ended; all claims are lost.
        case lost(ControlError)
        /// A daemon is reachable again. Presenters were not notified of events in between.
        case reconnected
        /// A presenter that was registered before was refused, and is no longer registered.
        case presenterRefused(UInt64, ControlError)
    }

    private struct Presenter {
        /// With the path at which the item was last seen.
        var request: PresenterRequest
        let handler: any PresenterHandler
    }

    private struct State {
        var session: ControlSession?
        var presenters: [UInt64: Presenter] = [:]
        /// Why there is no session.
        var reason = ControlError.cancelled
        var isClosed = false
        var keeper: Task<Void, Never>?
    }

    private let socketPath: String
    private let tell: @Sendable (News) -> Void
    private let state = Mutex(State())

    /// The pause before the first attempt to reconnect; it doubles before each further one.
    package static let firstPause = Duration.milliseconds(50)
    /// The longest pause between two attempts. They never end: the container may be mounted again much later.
    package static let longestPause = Duration.seconds(10)

    private init(_ socketPath: String, _ tell: @escaping @Sendable (News) -> Void) {
        self.socketPath = socketPath
        self.tell = tell
    }

    /// Opens a session that reconnects until ``close()``.
    ///
    /// - Parameter onNews: Called in order; it must not block.
    /// - Throws: When there is no daemon now.
    package static func open(
        socketPath: String, onNews: @escaping @Sendable (News) -> Void = { _ in }
    ) async throws(ControlError) -> ReconnectingSession {
        let first = try await ControlSession.open(socketPath: socketPath)
        let session = ReconnectingSession(socketPath, onNews)
        let owner: @Sendable () -> ReconnectingSession? = { [weak session] in session }
        let keeper = Task { await Self.keep(first, owner) }
        session.state.withLock {
            $0.session = first
            $0.keeper = keeper
        }
        return session
    }

    /// Ends the session for good, and with it everything that it holds.
    package func close() async {
        let (session, keeper) = state.withLock { state in
            defer {
                state.session = nil
                state.keeper = nil
                state.reason = .cancelled
                state.isClosed = true
                state.presenters = [:]
            }
            return (state.session, state.keeper)
        }
        keeper?.cancel()
        await session?.close()
    }

    deinit { state.withLock { $0.keeper?.cancel() } }
}

extension ReconnectingSession {
    /// Like ``ControlSession/claim(_:onProgress:onLoss:)``.
    package func claim(
        _ request: ClaimRequest, onProgress: (@Sendable (ClaimProgress) -> Void)? = nil,
        onLoss: (@Sendable (ClaimEnded) -> Void)? = nil
    ) async throws(ClaimFailure) -> GrantedClaim {
        let session: ControlSession
        do throws(ControlError) {
            session = try current()
        } catch {
            throw .control(error)
        }
        return try await session.claim(request, onProgress: onProgress, onLoss: onLoss)
    }

    /// Releases a claim. Does nothing to a claim of an ended session: it is lost already.
    package func release(_ claim: GrantedClaim) async {
        await state.withLock { $0.session }?.release(claim)
    }

    package func cancelCoordinator(_ name: String) { state.withLock { $0.session }?.cancelCoordinator(name) }

    /// Registers a presenter, now and at each reconnection.
    ///
    /// - Throws: When the daemon refuses it, which then is forgotten. Not without a daemon: then it is registered
    ///   later.
    package func present(
        _ request: PresenterRequest, _ handler: any PresenterHandler
    ) async throws(ControlError) {
        let number = request.presenter
        let session = try state.withLock { state throws(ControlError) in
            guard !state.isClosed else { throw .cancelled }
            state.presenters[number] = Presenter(request: request, handler: handler)
            return state.session
        }
        guard let session else { return }
        do {
            try await register(request, handler, in: session)
        } catch .daemonUnreachable {
            return
        } catch {
            state.withLock { $0.presenters[number] = nil }
            throw error
        }
    }

    package func withdraw(_ presenter: UInt64) async throws(ControlError) {
        let session = state.withLock { state in
            state.presenters[presenter] = nil
            return state.session
        }
        do {
            try await session?.withdraw(presenter)
        } catch .daemonUnreachable {
            // The registration ended with the connection.
        }
    }

    private func current() throws(ControlError) -> ControlSession {
        try state.withLock { state throws(ControlError) in
            guard let session = state.session else { throw state.reason }
            return session
        }
    }

    private func register(
        _ request: PresenterRequest, _ handler: any PresenterHandler, in session: ControlSession
    ) async throws(ControlError) {
        try await session.present(
            request,
            MovingPresenter(handler) { [weak self] path in
                self?.state.withLock { $0.presenters[request.presenter]?.request.path = path }
            })
    }
}

// MARK: Reconnecting

extension ReconnectingSession {
    /// Keeps a reference to the owner's session only between two waits, so that it can be released without ``close()``.
    private static func keep(_ first: ControlSession, _ owner: @Sendable () -> ReconnectingSession?) async {
        var session = first
        while !Task.isCancelled {
            let reason = await session.ended()
            guard !Task.isCancelled, let path = owner()?.leave(reason) else { break }
            guard let next = await reopen(path), let owner = owner() else { break }
            session = next
            guard await owner.comeBack(next) else { break }
        }
        await session.close()
    }

    private static func reopen(_ socketPath: String) async -> ControlSession? {
        var pause = firstPause
        while !Task.isCancelled {
            // Cancelled: the loop ends.
            try? await Task.sleep(for: pause)
            if let session = try? await ControlSession.open(socketPath: socketPath) { return session }
            pause = min(pause * 2, longestPause)
        }
        return nil
    }

    private func leave(_ reason: ControlError) -> String {
        state.withLock { state in
            state.session = nil
            if !state.isClosed { state.reason = .daemonUnreachable("the connection ended") }
        }
        tell(.lost(reason))
        return socketPath
    }

    /// - Returns: Whether the owner still wants it.
    private func comeBack(_ session: ControlSession) async -> Bool {
        let presenters: [UInt64: Presenter]? = state.withLock { state in
            guard !state.isClosed else { return nil }
            // From here on, later calls register presenters themselves.
            state.session = session
            return state.presenters
        }
        guard let presenters else { return false }
        for (number, presenter) in presenters.sorted(by: { $0.key < $1.key }) {
            do {
                try await register(presenter.request, presenter.handler, in: session)
            } catch .daemonUnreachable, .cancelled {
                return true  // disconnected again: the next round begins
            } catch {
                state.withLock { $0.presenters[number] = nil }
                tell(.presenterRefused(number, error))
            }
            // Withdrawn while it was being registered again.
            if state.withLock({ $0.presenters[number] }) == nil { try? await session.withdraw(number) }
        }
        tell(.reconnected)
        return true
    }
}

/// A presenter that records its item's path, for the next registration.
private struct MovingPresenter: PresenterHandler {
    let handler: any PresenterHandler
    let onMove: @Sendable (String?) -> Void

    init(_ handler: any PresenterHandler, onMove: @escaping @Sendable (String?) -> Void) {
        self.handler = handler
        self.onMove = onMove
    }

    func answer(_ question: PresenterQuestion) async -> PresenterAnswer { await handler.answer(question) }

    func reacquire(question: UInt64) async { await handler.reacquire(question: question) }

    func receive(_ news: PresenterNews) async {
        if news.notice == .didMove { onMove(news.path) }
        await handler.receive(news)
    }
}
