import ControlAPI
import Foundation
package import Model
import Synchronization

/// Claims and presenters at one daemon: ``OpenSessionRequest`` as functions.
///
/// Everything that the session holds ends with it: when it is closed, the process exits, or the daemon is gone. Then
/// all waiting calls fail with ``ControlError/daemonUnreachable(_:)``, and held claims are reported as lost. It does
/// not reconnect; ``ReconnectingSession`` does.
///
/// The functions never wait and use no task, so that callers may block threads of the cooperative pool until a
/// completion is called. Completions are called on the thread of the connection, or before the function returns, and
/// must not block. `ControlSession+Async.swift` has the same functions as async ones.
package final class ControlSession: Sendable {
    let connection: ControlConnection
    private let ledger = Mutex(SessionLedger())
    private let answerLimit: Duration
    private let encoder = JSONEncoder()

    /// How long a daemon may take for answers that it can give at once: a welcome, a release, a registration.
    package static let answerLimit = Duration.seconds(30)

    /// Numbers claims and calls: unique in this process, so that one session's claim is never taken for another's.
    private static let numbers = Atomic<UInt64>(1)

    /// The interval of checks whether the daemon has stopped answering.
    private static let watchInterval = Duration.seconds(5)

    private init(socketPath: String, answerLimit: Duration) {
        connection = ControlConnection(socketPath: socketPath)
        self.answerLimit = answerLimit
        encoder.outputFormatting = [.withoutEscapingSlashes]
    }

    /// Opens a session; completes when the daemon has welcomed it.
    ///
    /// - Parameters:
    ///   - onConnect: Gets the session before the welcome, to end it meanwhile.
    ///   - completion: Gets ``ControlError/refused(_:)`` when the daemon has too many sessions.
    package static func open(
        socketPath: String, withholdsDownloads: Bool = false, answerLimit: Duration = ControlSession.answerLimit,
        onConnect: @escaping @Sendable (ControlSession) -> Void = { _ in },
        completion: @escaping @Sendable (Result<ControlSession, ControlError>) -> Void
    ) {
        let session = ControlSession(socketPath: socketPath, answerLimit: answerLimit)
        onConnect(session)
        let welcomed: SessionLedger.Answer = { welcome in
            if case .failure(let error) = welcome { session.end(error) }
            completion(welcome.map { session })
        }
        session.change { $0.awaitWelcome(welcomed, now: .now) }
        let request = HTTPRequest(opening: OpenSessionRequest(downloads: withholdsDownloads ? .withheld : nil))
        Thread.detachNewThread { session.run(request) }
    }

    /// The daemon's name for this session.
    package var client: UInt64 { ledger.withLock { $0.client ?? 0 } }

    /// Whether the daemon's mount, and with it held claims, goes on when the daemon is killed.
    package var keepsClaims: Bool { ledger.withLock { $0.keepsClaims } }

    /// - Parameter completion: Gets the reason when the session is over; ``ControlError/cancelled`` after it was closed.
    package func whenEnded(completion: @escaping @Sendable (ControlError) -> Void) {
        change { ledger in
            ledger.awaitEnd(
                { result in if case .failure(let error) = result { completion(error) } }, number: Self.nextNumber())
        }
    }

    /// Ends the session, and with it everything that it holds, without waiting for the connection to close.
    package func end() { end(.cancelled) }
}

// MARK: Claims

extension ControlSession {
    /// Requests coordinated access.
    ///
    /// - Parameters:
    ///   - request: Its number is ignored: the session assigns one, unless it is given here.
    ///   - onProgress: Called on the thread of the connection, in order; it must not block.
    ///   - onLoss: Called on the thread of the connection when the granted claim is lost: it was revoked, or the daemon
    ///     is gone.
    /// - Returns: The number of the claim, for ``abandon(_:)``.
    @discardableResult
    package func claim(
        _ request: ClaimRequest, number: UInt64? = nil, onProgress: (@Sendable (ClaimProgress) -> Void)? = nil,
        onLoss: (@Sendable (ClaimEnded) -> Void)? = nil,
        completion: @escaping @Sendable (Result<GrantedClaim, ClaimFailure>) -> Void
    ) -> UInt64 {
        var request = request
        let number = number ?? Self.nextNumber()
        request.claim = number
        do throws(FileError) {
            let line = try self.line(.claim(request))
            change {
                $0.claim(number, line: line, .init(answer: completion, onProgress: onProgress, onLoss: onLoss))
            }
        } catch {
            completion(.failure(.refused(error)))
        }
        return number
    }

    /// Ends the wait for a claim, which fails with ``ControlError/cancelled``; does nothing to a granted claim. A claim
    /// that the daemon grants afterwards is released.
    package func abandon(_ claim: UInt64) { change { $0.abandon(claim) } }

    /// Releases a claim; completes when the claims waiting for it can be granted. Does nothing if the claim is lost
    /// already.
    package func release(_ claim: GrantedClaim, completion: @escaping @Sendable () -> Void) {
        // The call cannot fail in a way that matters: a released claim is gone, also with the session.
        change { $0.release(claim.claim, { _ in completion() }, now: .now) }
    }

    /// Cancels all waiting claims of a coordinator, and later ones. Granted claims are kept.
    package func cancelCoordinator(_ name: String) {
        change { ledger in ledger.end == nil ? [.send(.cancelCoordinator(name))] : [] }
    }
}

// MARK: Presenters

extension ControlSession {
    /// Declares directories with these extensions to be file packages while the session lasts.
    package func declarePackages(_ extensions: [String]) {
        change { ledger in ledger.end == nil ? [.send(.packages(extensions))] : [] }
    }

    /// Registers a presenter, or replaces the item, methods or inbox of a registered one.
    ///
    /// Completes when it is registered: no later event of the item is missed.
    /// - Parameter inbox: Gets the inbox of a registered presenter, and returns the one to use from now on.
    package func present(
        _ request: PresenterRequest, inbox: (_ known: (any PresenterInbox)?) -> any PresenterInbox,
        completion: @escaping @Sendable (Result<Void, ControlError>) -> Void
    ) {
        do throws(FileError) {
            let line = try self.line(.present(request))
            let pending = SessionLedger.Pending(number: Self.nextNumber(), call: completion, since: .now)
            change { $0.present(request.presenter, line: line, pending, inbox: inbox) }
        } catch {
            completion(.failure(.refused(error)))
        }
    }

    /// Sends a presenter's answer to an ``PresenterMessage/ask(_:)``.
    package func answer(_ reply: PresenterReply) {
        change { ledger in ledger.end == nil ? [.send(.answer(reply))] : [] }
    }

    /// Withdraws a presenter: it gets no more messages, and its answers are no longer waited for.
    package func withdraw(_ presenter: UInt64, completion: @escaping @Sendable (Result<Void, ControlError>) -> Void) {
        let pending = SessionLedger.Pending(number: Self.nextNumber(), call: completion, since: .now)
        change { $0.withdraw(presenter, pending) }
    }
}

// MARK: Events of the connection

extension ControlSession {
    /// One HTTP request and one answer, both as long as the session: the lines of the answer's body are its events.
    private func run(_ request: HTTPRequest) {
        let watch = ControlConnection.Tick(interval: min(Self.watchInterval, answerLimit)) { self.endIfSilent() }
        var lines = LineReader.ofDaemon
        do throws(ControlError) {
            try connection.run(request, deadline: nil, tick: watch) { part throws(ControlError) in
                lines.append(part)
                while let event = try lines.next(SessionEvent.self) { change { $0.receive(event) } }
            }
            end(.daemonUnreachable("it ended the session"))
        } catch {
            end(error)
        }
    }

    func end(_ error: ControlError) {
        change { $0.end(error) }
        connection.cancel()
    }

    private func endIfSilent() {
        let limit = ContinuousClock.now - answerLimit
        if ledger.withLock({ $0.isSilent(since: limit) }) { end(.daemonUnreachable(Self.silence(answerLimit))) }
    }

    private static func silence(_ limit: Duration) -> String { "no answer within \(limit.components.seconds) s" }

    static func nextNumber() -> UInt64 { numbers.wrappingAdd(1, ordering: .relaxed).oldValue }

    /// Sends under the lock, so that lines go out in the order of the ledger's decisions, and performs all other
    /// effects after it.
    func change(_ decide: (inout SessionLedger) -> [SessionLedger.Effect]) {
        let effects = ledger.withLock { ledger in
            let effects = decide(&ledger)
            var rest: [SessionLedger.Effect] = []
            for effect in effects {
                switch effect {
                case .write(let line): write(line)
                case .send(let request):
                    // Only a coordinator's name can be too long, and no claim can have been made with such a name.
                    if let line = try? line(request) { write(line) }
                default: rest.append(effect)
                }
            }
            return rest
        }
        for effect in effects { carryOut(effect) }
    }

    private func carryOut(_ effect: SessionLedger.Effect) {
        switch effect {
        case .send, .write: break  // sent under the lock
        case .resume(let answer, let result): answer(result)
        case .finish(let answer, let result): answer(result)
        case .progress(let report, let progress): report(progress)
        case .lose(let report, let end): report(end)
        case .close(let inbox): inbox.close()
        case .deliver(let inbox, let message):
            guard !inbox.push(message) else { return }
            end(.refused(FileError(.busy, "a presenter has not handled its messages: there are too many")))
        }
    }

    /// - Throws: ``FileError/Code/tooLarge`` for a line that the daemon would not read.
    func line(_ request: SessionRequest) throws(FileError) -> [UInt8] {
        var line: [UInt8]
        do {
            line = Array(try encoder.encode(request))
        } catch {
            throw FileError(.invalid, "\(error)", cause: error)
        }
        guard line.count <= SessionRequest.lineByteLimit else {
            throw FileError(.tooLarge, "a request has at most \(SessionRequest.lineByteLimit >> 20) MiB")
        }
        line.append(UInt8(ascii: "\n"))
        return line
    }

    /// Only queues the line: it is written on the thread of the connection, never on the caller's.
    private func write(_ line: [UInt8]) { connection.send(HTTPRequest.chunk(line)) }
}
