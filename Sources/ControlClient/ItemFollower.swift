import AsyncHTTPClient
import ControlAPI
import Foundation
package import Model
import NIOCore
import NIOHTTP1
import Synchronization

/// Follows the items at and below a path (``ControlRoute/follow``), without a task.
///
/// The callbacks run on the thread of the connection, in order, and must not block. It does not reconnect.
package final class ItemFollower: Sendable {
    private let task: Mutex<HTTPClient.Task<Void>?>
    private let lines: UpdateReader

    private init(_ lines: UpdateReader, _ task: HTTPClient.Task<Void>?) {
        self.lines = lines
        self.task = Mutex(task)
    }

    /// Connects in the background.
    ///
    /// - Parameters:
    ///   - path: Relative to the container's root; it need not be that of a directory.
    ///   - onUpdate: Gets every line.
    ///   - onEnd: Called once, with the reason: the daemon refused, or is gone, or the connection ended. Not after
    ///     ``stop()``.
    package static func start(
        socketPath: String, path: String, onUpdate: @escaping @Sendable (ItemUpdate) -> Void,
        onEnd: @escaping @Sendable (ControlError) -> Void
    ) -> ItemFollower {
        let lines = UpdateReader(onUpdate: onUpdate, onEnd: onEnd)
        do throws(ControlError) {
            let request = try HTTPClient.Request(socket: socketPath, .follow, query: ControlClient.query(path))
            return ItemFollower(
                lines,
                BlockingControlClient.http.execute(request: request, delegate: lines, deadline: .distantFuture))
        } catch {
            lines.end(error)
            return ItemFollower(lines, nil)
        }
    }

    /// Disconnects. A callback that is running continues; none begins afterwards.
    package func stop() {
        lines.stop()
        task.withLock { $0 }?.cancel()
    }
}

/// Splits the response into updates.
private final class UpdateReader: HTTPClientResponseDelegate {
    private struct State {
        var reader = LineReader.ofDaemon
        /// The status and the body of an answer other than 200.
        var refusal: (status: UInt, body: Data)?
        var isOver = false
    }

    private let state = Mutex(State())
    private let onUpdate: @Sendable (ItemUpdate) -> Void
    private let onEnd: @Sendable (ControlError) -> Void

    init(onUpdate: @escaping @Sendable (ItemUpdate) -> Void, onEnd: @escaping @Sendable (ControlError) -> Void) {
        self.onUpdate = onUpdate
        self.onEnd = onEnd
    }

    func stop() { state.withLock { $0.isOver = true } }

    func end(_ error: ControlError) {
        let isFirst = state.withLock { state in
            defer { state.isOver = true }
            return !state.isOver
        }
        if isFirst { onEnd(error) }
    }

    func didReceiveHead(task: HTTPClient.Task<Void>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
        if head.status != .ok { state.withLock { $0.refusal = (head.status.code, Data()) } }
        return task.eventLoop.makeSucceededVoidFuture()
    }

    func didReceiveBodyPart(task: HTTPClient.Task<Void>, _ buffer: ByteBuffer) -> EventLoopFuture<Void> {
        state.withLock { state in
            if state.refusal == nil {
                state.reader.append(buffer)
            } else if state.refusal!.body.count < BodyReader.refusalByteLimit {
                state.refusal!.body.append(contentsOf: buffer.readableBytesView)
            }
        }
        do throws(ControlError) {
            while let update = try next() { onUpdate(update) }
            return task.eventLoop.makeSucceededVoidFuture()
        } catch {
            end(error)
            return task.eventLoop.makeFailedFuture(error)
        }
    }

    private func next() throws(ControlError) -> ItemUpdate? {
        try state.withLock { state throws(ControlError) in
            state.isOver ? nil : try state.reader.next(ItemUpdate.self)
        }
    }

    func didReceiveError(task: HTTPClient.Task<Void>, _ error: any Error) { end(ControlClient.controlError(error)) }

    func didFinishRequest(task: HTTPClient.Task<Void>) throws {
        let refusal = state.withLock { $0.refusal }
        end(refusal.map { ControlClient.refusal($0.status, $0.body) } ?? .daemonUnreachable("it ended the stream"))
    }
}
