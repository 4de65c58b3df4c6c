import Dispatch
package import Model
import Synchronization

/// A ``ControlSession`` that connects on first use, and reconnects after its daemon was gone, with its presenters.
///
/// Claims go on where the daemon's mount does: see `ReconnectingSession+Claims.swift`. Otherwise held ones are reported as
/// lost, and waiting calls fail. While there is no daemon, claims fail with ``ControlError/daemonUnreachable(_:)``, and
/// presenters are recorded for later.
///
///     away ─opened, presenters registered→ connected ─connection ends→ away
///      └──────────────── close ───────────────┴─────────────────────→ closed
///
/// Like those of ``ControlSession``, the functions never wait and use no task; `ReconnectingSession+Async.swift` has
/// them as async functions.
package final class ReconnectingSession: Sendable {
    /// A notification for the owner.
    package enum Event: Equatable, Sendable {
        /// The connection ended; claims are lost unless they go on.
        case lost(ControlError)
        /// A daemon is reachable again. Presenters were not notified of events in between.
        case reconnected
        /// A presenter that was registered before was refused, and is no longer registered.
        case presenterRefused(UInt64, ControlError)
    }

    /// Makes the inbox of a presenter on a new session, or takes the one known there.
    package typealias InboxMaker =
        @Sendable (_ session: ControlSession, _ known: (any PresenterInbox)?) -> any PresenterInbox
    package typealias Opening = @Sendable (Result<ControlSession, ControlError>) -> Void

    fileprivate struct Presenter {
        /// With the path at which the item was last seen.
        var request: PresenterRequest
        let inbox: InboxMaker
        /// Why the daemon refused it when it was registered first.
        var refusal: ControlError?
    }

    struct State {
        var session: ControlSession?
        /// By their numbers, until they are released or over.
        var claims: [UInt64: ReturningClaim] = [:]
        /// How many sessions were lost.
        var lossCount: UInt64 = 0
        /// Whether another daemon is expected to take the place of the one that was lost.
        var awaitsReturn = false
        /// Whether it connects again by itself: once it was connected, or since a presenter waits for a daemon.
        var keepsConnecting = false
        var isConnecting = false
        /// Calls that wait for the attempt to connect.
        var waiters: [Opening] = []
        fileprivate var presenters: [UInt64: Presenter] = [:]
        /// Why there is no session.
        var reason: ControlError?
        var isClosed = false
        var pause = ReconnectingSession.firstPause
    }

    private let socketPath: @Sendable () -> String?
    private let packageExtensions: [String]
    private let publish: @Sendable (Event) -> Void
    let state = Mutex(State())
    /// Connecting may block, if the daemon does not accept connections.
    let queue = DispatchQueue(label: "dewpoint.session")

    /// The pause before the first attempt to reconnect; it doubles before each further one.
    package static let firstPause = Duration.milliseconds(50)
    /// The longest pause between two attempts. They never end: the container may be mounted again much later.
    package static let longestPause = Duration.seconds(10)
    /// The longest while claims wait for a daemon, which keeps them for two seconds only.
    package static let longestPauseOfClaims = Duration.milliseconds(200)

    /// - Parameters:
    ///   - socketPath: Finds the socket, for each attempt to connect; `nil` when there is none.
    ///   - packageExtensions: Declared on each connection (``ControlSession/declarePackages(_:)``).
    ///   - onEvent: Called in order; it must not block.
    package init(
        socketPath: @escaping @Sendable () -> String?, packageExtensions: [String] = [],
        onEvent: @escaping @Sendable (Event) -> Void = { _ in }
    ) {
        self.socketPath = socketPath
        self.packageExtensions = packageExtensions
        publish = onEvent
    }

    /// Ends the session for good, and with it everything that it holds.
    package func end() {
        let (session, waiters, claims) = state.withLock { state in
            defer {
                state = State()
                state.isClosed = true
                state.reason = .cancelled
            }
            return (state.session, state.waiters, state.claims)
        }
        for claim in claims.values where claim.isWaiting { claim.fail(.control(.cancelled)) }
        session?.end()
        for waiter in waiters { waiter(.failure(.cancelled)) }
    }

    deinit { end() }
}

// MARK: Requests

extension ReconnectingSession {
    /// Completes with the session, connecting at once if there is none.
    package func whenConnected(_ completion: @escaping Opening) {
        enum Step {
            case answer(Result<ControlSession, ControlError>)
            case wait(connecting: Bool)
        }
        let step = state.withLock { state -> Step in
            if state.isClosed { return .answer(.failure(.cancelled)) }
            if let session = state.session { return .answer(.success(session)) }
            state.waiters.append(completion)
            defer { state.isConnecting = true }
            return .wait(connecting: !state.isConnecting)
        }
        switch step {
        case .answer(let result): completion(result)
        case .wait(connecting: true): queue.async { [weak self] in self?.connect() }
        case .wait(connecting: false): break
        }
    }

    /// Registers a presenter, now and at each reconnection.
    ///
    /// - Parameter completion: Gets the daemon's refusal, after which the presenter is forgotten. Without a daemon it
    ///   succeeds: then the presenter is registered later.
    package func present(
        _ request: PresenterRequest, inbox: @escaping InboxMaker,
        completion: @escaping @Sendable (Result<Void, ControlError>) -> Void
    ) {
        let number = request.presenter
        let (session, isClosed) = state.withLock { state in
            if !state.isClosed { state.presenters[number] = Presenter(request: request, inbox: inbox) }
            return (state.session, state.isClosed)
        }
        guard !isClosed else { return completion(.failure(.cancelled)) }
        let finish: @Sendable () -> Void = { [weak self] in
            let refusal = self?.state.withLock { state -> ControlError? in
                guard let refusal = state.presenters[number]?.refusal else { return nil }
                state.presenters[number] = nil
                return refusal
            }
            completion(refusal.map { .failure($0) } ?? .success(()))
        }
        if let session {
            register(number, in: session) { _ in finish() }
        } else {
            // Connecting registers all presenters.
            whenConnected { _ in finish() }
        }
    }

    package func withdraw(_ presenter: UInt64, completion: @escaping @Sendable () -> Void) {
        let session = state.withLock { state in
            state.presenters[presenter] = nil
            return state.session
        }
        guard let session else { return completion() }
        // A registration ends with its connection, too.
        session.withdraw(presenter) { _ in completion() }
    }

    /// - Parameter completion: Gets why the daemon refused the presenter, `nil` if it did not.
    private func register(
        _ number: UInt64, in session: ControlSession, _ completion: @escaping @Sendable (ControlError?) -> Void
    ) {
        guard let presenter = state.withLock({ $0.presenters[number] }) else { return completion(nil) }
        session.present(presenter.request) { known in
            PathRecorder(presenter.inbox(session, (known as? PathRecorder)?.inbox)) { [weak self] path in
                self?.state.withLock { $0.presenters[number]?.request.path = path }
            }
        } completion: { [weak self] result in
            switch result {
            case .success, .failure(.daemonUnreachable), .failure(.cancelled): completion(nil)
            case .failure(let error):
                self?.state.withLock { $0.presenters[number]?.refusal = error }
                completion(error)
            }
        }
    }
}

// MARK: Connecting

extension ReconnectingSession {
    private func connect() {
        guard let path = socketPath() else {
            return failed(.daemonUnreachable("there is no daemon for the container"))
        }
        ControlSession.open(socketPath: path) { [weak self] result in
            switch result {
            case .success(let session):
                guard let self else { return session.end() }
                self.connected(session)
            case .failure(let error): self?.failed(error)
            }
        }
    }

    private func failed(_ error: ControlError) {
        let (waiters, reason, pause) = state.withLock { state -> ([Opening], ControlError, Duration?) in
            if !state.presenters.isEmpty { state.keepsConnecting = true }
            let longest = state.awaitsReturn ? Self.longestPauseOfClaims : Self.longestPause
            let pause = state.keepsConnecting && !state.isClosed ? min(state.pause, longest) : nil
            defer {
                state.isConnecting = false
                state.waiters = []
                if pause != nil { state.pause = min(state.pause * 2, Self.longestPause) }
            }
            return (state.waiters, state.reason ?? error, pause)
        }
        for waiter in waiters { waiter(.failure(reason)) }
        if let pause { reconnect(after: pause) }
    }

    private func connected(_ session: ControlSession) {
        let (isClosed, isFirst, presenters) = state.withLock { state in
            defer {
                if !state.isClosed {
                    // From here on, later calls register presenters themselves.
                    state.session = session
                    state.awaitsReturn = false
                    state.keepsConnecting = true
                    state.pause = Self.firstPause
                }
            }
            return (state.isClosed, !state.keepsConnecting, state.presenters.keys.sorted())
        }
        guard !isClosed else { return session.end() }
        session.whenEnded { [weak self] reason in self?.left(session, reason) }
        if !packageExtensions.isEmpty { session.declarePackages(packageExtensions) }
        registerAll(presenters[...], in: session, isFirst: isFirst)
    }

    /// One after the other: each completion begins the next.
    private func registerAll(_ presenters: ArraySlice<UInt64>, in session: ControlSession, isFirst: Bool) {
        // A session that is over would refuse all of them at once; they are registered in the next one.
        guard let number = presenters.first, state.withLock({ $0.session === session }) else {
            return settled(session, isFirst: isFirst)
        }
        register(number, in: session) { [weak self] refusal in
            guard let self else { return }
            if let refusal, !isFirst {
                self.state.withLock { $0.presenters[number] = nil }
                self.publish(.presenterRefused(number, refusal))
            }
            self.registerAll(presenters.dropFirst(), in: session, isFirst: isFirst)
        }
    }

    private func settled(_ session: ControlSession, isFirst: Bool) {
        let (waiters, isOver) = state.withLock { state in
            defer {
                state.isConnecting = false
                state.waiters = []
            }
            return (state.waiters, state.session !== session)
        }
        if isOver {
            // Lost meanwhile: the attempt made for that may have found this one unfinished.
            reconnect(after: Self.firstPause)
        } else if !isFirst {
            resumeClaims(in: session)
            publish(.reconnected)
        }
        for waiter in waiters { waiter(.success(session)) }
    }

    private func left(_ session: ControlSession, _ reason: ControlError) {
        let loss = state.withLock { state -> UInt64? in
            guard state.session === session else { return nil }
            state.session = nil
            state.reason = .daemonUnreachable("the connection ended")
            state.lossCount += 1
            state.awaitsReturn = session.keepsClaims
            return state.isClosed ? nil : state.lossCount
        }
        guard let loss else { return }
        publish(.lost(reason))
        if session.keepsClaims { awaitReturn(ofThoseAwaySince: loss) }
        reconnect(after: Self.firstPause)
    }

    private func reconnect(after pause: Duration) {
        queue.asyncAfter(deadline: .now() + pause / .seconds(1)) { [weak self] in
            guard let self else { return }
            let isNeeded = self.state.withLock { state in
                guard !state.isClosed, state.session == nil, !state.isConnecting else { return false }
                state.isConnecting = true
                return true
            }
            if isNeeded { self.connect() }
        }
    }
}

/// The inbox of a presenter, which records the path of its item, for the next registration.
private struct PathRecorder: PresenterInbox {
    let inbox: any PresenterInbox
    let onMove: @Sendable (String?) -> Void

    init(_ inbox: any PresenterInbox, onMove: @escaping @Sendable (String?) -> Void) {
        self.inbox = inbox
        self.onMove = onMove
    }

    func push(_ message: PresenterMessage) -> Bool {
        if case .notice(let news) = message, news.notice == .didMove { onMove(news.path) }
        return inbox.push(message)
    }

    func close() { inbox.close() }
}
