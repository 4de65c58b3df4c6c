import ControlAPI
import Foundation
package import Model
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// Claims and presenters at one daemon: ``ControlRoute/session`` as functions.
///
/// Everything that the session holds ends with it: when ``close()`` is called, the process exits, or the daemon is
/// gone. Then all waiting calls throw ``ControlError/daemonUnreachable(_:)``, and held claims are reported as lost. It
/// does not reconnect; ``ReconnectingSession`` does.
package final class ControlSession: Sendable {
    private let channel: any Channel
    private let ledger = Mutex(SessionLedger())
    private let answerLimit: Duration
    private let encoder = JSONEncoder()

    /// How long a daemon may take for answers that it can give at once: a welcome, a release, a registration.
    package static let answerLimit = Duration.seconds(30)

    /// Numbers claims and calls: unique in this process, so that one session's claim is never taken for another's.
    private static let numbers = Atomic<UInt64>(1)

    private init(_ channel: any Channel, answerLimit: Duration) {
        self.channel = channel
        self.answerLimit = answerLimit
        encoder.outputFormatting = [.withoutEscapingSlashes]
    }

    /// Opens a session, and waits until the daemon has welcomed it.
    ///
    /// - Throws: ``ControlError/refused(_:)`` when the daemon has too many sessions.
    package static func open(
        socketPath: String, withholdsDownloads: Bool = false, answerLimit: Duration = ControlSession.answerLimit
    ) async throws(ControlError) -> ControlSession {
        let session = try await connect(socketPath, withholdsDownloads, answerLimit)
        let timer = Task {
            try await Task.sleep(for: answerLimit)
            session.end(.daemonUnreachable(Self.silence(answerLimit)))
        }
        defer { timer.cancel() }
        do throws(ControlError) {
            try await session.cancellable {
                $0.awaitWelcome($1)
            } onCancel: {
                $0.end(.cancelled)
            }
        } catch {
            await session.close()
            throw error
        }
        return session
    }

    /// The daemon's name for this session.
    package var client: UInt64 { ledger.withLock { $0.client ?? 0 } }

    /// Waits until the session is over.
    ///
    /// - Returns: The reason; ``ControlError/cancelled`` after ``close()``, and when the caller's task is cancelled.
    package func ended() async -> ControlError {
        let number = Self.nextNumber()
        do throws(ControlError) {
            try await cancellable {
                $0.awaitEnd($1, number: number)
            } onCancel: {
                $0.stopAwaitingEnd(number: number)
            }
        } catch {
            return error
        }
        return .cancelled
    }

    /// Ends the session, and with it everything that it holds.
    package func close() async {
        end(.cancelled)
        // Fails if the daemon has closed it before.
        try? await channel.close().get()
    }
}

// MARK: Claims

extension ControlSession {
    /// Waits for coordinated access.
    ///
    /// When the caller's task is cancelled it throws at once, and a claim that the daemon grants afterwards is
    /// released.
    /// - Parameters:
    ///   - request: Its number is ignored: the session assigns one.
    ///   - onProgress: Called on the thread of the connection, in order; it must not block.
    ///   - onLoss: Called on the thread of the connection when the granted claim is lost: it was revoked, or the daemon
    ///     is gone.
    package func claim(
        _ request: ClaimRequest, onProgress: (@Sendable (ClaimProgress) -> Void)? = nil,
        onLoss: (@Sendable (ClaimEnded) -> Void)? = nil
    ) async throws(ClaimFailure) -> GrantedClaim {
        var request = request
        let number = Self.nextNumber()
        request.claim = number
        let line: ByteBuffer
        do throws(FileError) {
            line = try self.line(.claim(request))
        } catch {
            throw .refused(error)
        }
        return try await withTaskCancellationHandler {
            await withCheckedContinuation { (answer: SessionLedger.ClaimAnswer) in
                change { $0.claim(number, line: line, .init(answer: answer, onProgress: onProgress, onLoss: onLoss)) }
                // Cancelled before the call could be abandoned.
                if Task.isCancelled { change { $0.abandon(number) } }
            }
        } onCancel: {
            change { $0.abandon(number) }
        }.get()
    }

    /// Releases a claim, and waits until the claims waiting for it can be granted. Does nothing if the claim is lost
    /// already.
    ///
    /// When the caller's task is cancelled it returns at once; the claim is released all the same.
    package func release(_ claim: GrantedClaim) async {
        let number = claim.claim
        // The call cannot fail in a way that matters: a released claim is gone, also with the session.
        try? await cancellable {
            $0.release(number, $1, now: .now)
        } onCancel: {
            $0.stopAwaitingRelease(number)
        }
    }

    /// Runs `body` under a claim.
    package func withClaim<Value>(
        _ request: ClaimRequest, onProgress: (@Sendable (ClaimProgress) -> Void)? = nil,
        onLoss: (@Sendable (ClaimEnded) -> Void)? = nil, _ body: (GrantedClaim) async throws -> Value
    ) async throws -> Value {
        let granted = try await claim(request, onProgress: onProgress, onLoss: onLoss)
        do {
            let value = try await body(granted)
            await release(granted)
            return value
        } catch {
            await release(granted)
            throw error
        }
    }

    /// Cancels all waiting claims of a coordinator, and later ones. Granted claims are kept.
    package func cancelCoordinator(_ name: String) {
        change { ledger in ledger.end == nil ? [.send(.cancelCoordinator(name))] : [] }
    }
}

// MARK: Presenters

extension ControlSession {
    /// Registers a presenter, or replaces the item, methods or handler of a registered one.
    ///
    /// Returns when it is registered: no later event of the item is missed.
    package func present(
        _ request: PresenterRequest, _ handler: any PresenterHandler
    ) async throws(ControlError) {
        let number = Self.nextNumber()
        let presenter = request.presenter
        let line: ByteBuffer
        do throws(FileError) {
            line = try self.line(.present(request))
        } catch {
            throw .refused(error)
        }
        try await cancellable { [self] ledger, answer in
            ledger.present(presenter, line: line, handler, .init(number: number, call: answer, since: .now)) {
                PresenterQueue(handler) { [weak self] reply in
                    self?.change { ledger in ledger.end == nil ? [.send(.answer(reply))] : [] }
                }
            }
        } onCancel: {
            $0.stopAwaitingRegistration(presenter: presenter, number: number)
        }
    }

    /// Withdraws a presenter: it gets no more messages, and its answers are no longer waited for.
    package func withdraw(_ presenter: UInt64) async throws(ControlError) {
        let number = Self.nextNumber()
        try await cancellable {
            $0.withdraw(presenter, .init(number: number, call: $1, since: .now))
        } onCancel: {
            $0.stopAwaitingRegistration(presenter: presenter, number: number)
        }
    }
}

// MARK: Events of the connection

extension ControlSession {
    func receive(_ event: SessionEvent) { change { $0.receive(event) } }

    func end(_ error: ControlError) {
        change { $0.end(error) }
        channel.close(promise: nil)
    }

    func endIfSilent() {
        let limit = ContinuousClock.now - answerLimit
        if ledger.withLock({ $0.isSilent(since: limit) }) { end(.daemonUnreachable(Self.silence(answerLimit))) }
    }

    private static func silence(_ limit: Duration) -> String { "no answer within \(limit.components.seconds) s" }

    private static func nextNumber() -> UInt64 { numbers.wrappingAdd(1, ordering: .relaxed).oldValue }

    /// Waits for an answer from the ledger or from a cancellation.
    private func cancellable(
        _ begin: @Sendable (inout SessionLedger, SessionLedger.Answer) -> [SessionLedger.Effect],
        onCancel: @Sendable (inout SessionLedger) -> [SessionLedger.Effect]
    ) async throws(ControlError) {
        try await withTaskCancellationHandler {
            await withCheckedContinuation { (answer: SessionLedger.Answer) in
                change { begin(&$0, answer) }
                if Task.isCancelled { change(onCancel) }
            }
        } onCancel: {
            change(onCancel)
        }.get()
    }

    /// Sends under the lock, so that lines go out in the order of the ledger's decisions, and performs all other
    /// effects after it.
    private func change(_ decide: (inout SessionLedger) -> [SessionLedger.Effect]) {
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
        case .resume(let answer, let result): answer.resume(returning: result)
        case .finish(let answer, let result): answer.resume(returning: result)
        case .progress(let tell, let progress): tell(progress)
        case .lose(let tell, let end): tell(end)
        case .close(let queue): queue.close()
        case .deliver(let queue, let message):
            guard !queue.push(message) else { return }
            end(.refused(FileError(.busy, "a presenter has not handled \(PresenterQueue.messageLimit) messages")))
        }
    }

    /// - Throws: ``FileError/Code/tooLarge`` for a line that the daemon would not read.
    private func line(_ request: SessionRequest) throws(FileError) -> ByteBuffer {
        var line = ByteBuffer()
        do {
            line.writeBytes(try encoder.encode(request))
        } catch {
            throw FileError(.invalid, "\(error)", cause: error)
        }
        guard line.readableBytes <= SessionRequest.lineByteLimit else {
            throw FileError(.tooLarge, "a request has at most \(SessionRequest.lineByteLimit >> 20) MiB")
        }
        line.writeInteger(UInt8(ascii: "\n"))
        return line
    }

    /// Only queues the line: it is written on the thread of the connection, never on the caller's.
    private func write(_ line: ByteBuffer) {
        channel.eventLoop.execute { [channel] in channel.writeAndFlush(line, promise: nil) }
    }

    private static func connect(
        _ path: String, _ withholdsDownloads: Bool, _ answerLimit: Duration
    ) async throws(ControlError) -> ControlSession {
        let target = ControlRoute.session.path + (withholdsDownloads ? ControlRoute.withholdingDownloads : "")
        do {
            let descriptor = try ControlSocket.connect(path: path)
            return try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .withConnectedSocket(descriptor) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let session = ControlSession(channel, answerLimit: answerLimit)
                        try channel.pipeline.syncOperations.addHTTPClientHandlers()
                        try channel.pipeline.syncOperations.addHandler(SessionHandler(session, target: target))
                        return session
                    }
                }
        } catch let error as FileError {
            throw .daemonUnreachable(error.detail)
        } catch {
            throw .daemonUnreachable("\(error)")
        }
    }
}
