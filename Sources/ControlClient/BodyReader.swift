import AsyncHTTPClient
import Dispatch
import Foundation
import Model
import NIOCore
import NIOHTTP1
import Synchronization

/// Hands the body of a response to a blocked caller, one part at a time: the next one is read from the connection when
/// the caller has taken the one before. The body of a refusal is returned instead.
final class BodyReader: HTTPClientResponseDelegate {
    struct Response: Sendable {
        var status: HTTPResponseStatus
        /// The body of an answer other than 200; longer ones are cut at ``refusalByteLimit``.
        var body = Data()
    }

    /// Longer than any message of a daemon: 64 KiB.
    static let refusalByteLimit = 64 << 10

    private struct State {
        var response = Response(status: .ok)
        var part: (bytes: ByteBuffer, taken: EventLoopPromise<Void>)?
        var isOver = false
    }

    private let state = Mutex(State())
    /// Counts parts that can be taken, and the end.
    private let arrivals = DispatchSemaphore(value: 0)

    /// Calls `body` with each part; returns at the end of the response, good or bad, or when `body` throws.
    func read(_ body: (ByteBuffer) throws(FileError) -> Void) throws(FileError) {
        while true {
            arrivals.wait()
            let part = state.withLock { state in
                defer { state.part = nil }
                return state.part
            }
            guard let part else { return }
            do throws(FileError) {
                try body(part.bytes)
                part.taken.succeed()
            } catch {
                part.taken.fail(error)
                throw error
            }
        }
    }

    func didReceiveHead(task: HTTPClient.Task<Response>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
        state.withLock { $0.response.status = head.status }
        return task.eventLoop.makeSucceededVoidFuture()
    }

    func didReceiveBodyPart(task: HTTPClient.Task<Response>, _ buffer: ByteBuffer) -> EventLoopFuture<Void> {
        let taken = task.eventLoop.makePromise(of: Void.self)
        let isOffered = state.withLock { state in
            guard state.response.status == .ok else {
                if state.response.body.count < Self.refusalByteLimit {
                    state.response.body.append(contentsOf: buffer.readableBytesView)
                }
                return false
            }
            state.part = (buffer, taken)
            return true
        }
        if isOffered { arrivals.signal() } else { taken.succeed() }
        return taken.futureResult
    }

    func didReceiveError(task: HTTPClient.Task<Response>, _ error: any Error) { finish() }

    func didFinishRequest(task: HTTPClient.Task<Response>) throws -> Response {
        finish()
        return state.withLock { $0.response }
    }

    private func finish() {
        let part = state.withLock { state in
            defer {
                state.part = nil
                state.isOver = true
            }
            return state.isOver ? nil : (state.part, true)
        }
        guard let part else { return }
        // Of a response that failed: nobody takes it any more.
        part.0?.taken.succeed()
        arrivals.signal()
    }
}
