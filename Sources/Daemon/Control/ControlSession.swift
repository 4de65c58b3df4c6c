import Control
import ControlAPI
import FileSystem
import Foundation
import Hummingbird
import Logging
import Model

extension OpenSessionRequest: AnsweredRequest {
    static func answer(_ exchange: ControlExchange) throws -> Response {
        try ControlSession(
            fileSystem: exchange.daemon.fileSystem, logger: exchange.daemon.logger,
            withholdsDownloads: Self(query: exchange.query).downloads == .withheld, executor: exchange.context.executor
        ).respond(to: exchange.request, from: exchange.peer, in: exchange.context)
    }
}

/// One client's session: its claims and presenters last as long as this connection and the process that opened it.
private struct ControlSession: Sendable {
    let fileSystem: FileSystem
    let logger: Logger
    /// Whether its process, with all child processes, may not download by reading.
    let withholdsDownloads: Bool
    /// The executor of the connection.
    let executor: EventLoopTaskExecutor

    /// Answers with the events of a session that lasts while the request's body is read.
    ///
    /// - Throws: ``FileError`` with `busy` at the limit of sessions.
    func respond(
        to request: Request, from peer: ControlContext.Peer, in context: ControlContext
    ) throws(FileError) -> Response {
        try fileSystem.claims.admit()
        return Response(
            status: .ok, headers: [.contentType: "application/jsonl", .connection: "close"],
            body: ResponseBody { writer in
                try await withTaskExecutorPreference(executor) {
                    // Only now: from here on the descriptor is closed by the session.
                    try await serve(request.body, peer, await context.peerDescriptor(), &writer)
                }
                try await writer.finish(nil)
            })
    }

    private func serve(
        _ body: RequestBody, _ peer: ControlContext.Peer, _ descriptor: Int32?, _ writer: inout any ResponseBodyWriter
    ) async throws {
        let stream = LineStream<SessionEvent>()
        let session: SessionID
        do throws(FileError) {
            session = try fileSystem.claims.open(
                process: peer.process, descriptor: descriptor, withholdsDownloads: withholdsDownloads
            ) {
                stream.send($0)
            } whenGone: {
                stream.finish()
            }
        } catch {
            stream.send(.refused(RequestRefused(code: error.code, message: error.detail)))
            stream.finish()
            return try await stream.write(to: &writer)
        }
        defer { fileSystem.claims.close(session) }
        stream.send(.welcome(client: session.rawValue, keepsClaims: fileSystem.lockManager.keepsClaims))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                do {
                    try await read(body, session, stream)
                } catch let error as FileError {
                    stream.send(.refused(RequestRefused(code: error.code, message: error.detail)))
                } catch {
                    // The connection is closed, and the session with it.
                }
                stream.finish()
            }
            try await stream.write(to: &writer)
            group.cancelAll()
        }
    }

    /// Handles line after line; the end of the body is the end of the session.
    private func read(_ body: RequestBody, _ session: SessionID, _ stream: LineStream<SessionEvent>) async throws {
        var reader = LineReader(byteLimit: SessionRequest.lineByteLimit)
        for try await piece in body {
            reader.append(piece.readableBytesView)
            while let line = try reader.next() { carryOut(line, session, stream) }
        }
        if let line = reader.last() { carryOut(line, session, stream) }
    }

    private func carryOut(_ line: Data, _ session: SessionID, _ stream: LineStream<SessionEvent>) {
        let request: SessionRequest
        do {
            request = try ForeignJSON.decode(SessionRequest.self, from: line)
        } catch {
            return stream.send(
                .refused(RequestRefused(code: .invalid, message: "invalid request: \(DecodingFault.sentence(error))")))
        }
        do throws(FileError) {
            try carryOut(request, session)
        } catch {
            stream.send(request.refusal(error))
        }
    }

    private func carryOut(_ request: SessionRequest, _ session: SessionID) throws(FileError) {
        switch request {
        case .claim(let claim): try fileSystem.claims.request(claim, from: session)
        case .release(let claim): try fileSystem.claims.release(claim, of: session)
        case .cancel(let claim): try fileSystem.claims.cancel(claim, of: session)
        case .cancelCoordinator(let coordinator): fileSystem.claims.cancelCoordinator(coordinator, of: session)
        case .present(let presenter): try fileSystem.claims.present(presenter, from: session)
        case .withdraw(let presenter): try fileSystem.claims.withdraw(presenter, of: session)
        case .answer(let reply): fileSystem.claims.answer(reply)
        case .packages(let extensions): try fileSystem.claims.declarePackages(extensions, of: session)
        }
    }
}

extension SessionRequest {
    /// A claim that is refused ends before it began; other requests are answered with a refusal.
    fileprivate func refusal(_ error: FileError) -> SessionEvent {
        switch self {
        case .claim(let request):
            .ended(ClaimEnded(claim: request.claim, reason: .invalid, code: error.code, message: error.detail))
        case .present(let request):
            .refused(RequestRefused(code: error.code, message: error.detail, presenter: request.presenter))
        case .withdraw(let presenter):
            .refused(RequestRefused(code: error.code, message: error.detail, presenter: presenter))
        case .release, .cancel, .cancelCoordinator, .answer, .packages:
            .refused(RequestRefused(code: error.code, message: error.detail))
        }
    }
}
