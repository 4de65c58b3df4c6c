import ControlAPI
import Foundation
package import Model
import Synchronization

/// Follows the items at and below a path (``FollowRequest``), without a task.
///
/// The callbacks run on the thread of the connection, in order, and must not block. It does not reconnect.
package final class ItemFollower: Sendable {
    private let connection: ControlConnection
    private let headLimit: Duration
    private let state = Mutex(State())
    private let onUpdate: @Sendable (ItemUpdate) -> Void
    private let onEnd: @Sendable (ControlError) -> Void

    private struct State {
        var lines = LineReader.ofDaemon
        var isOver = false
    }

    private init(
        _ socketPath: String, headLimit: Duration, onUpdate: @escaping @Sendable (ItemUpdate) -> Void,
        onEnd: @escaping @Sendable (ControlError) -> Void
    ) {
        connection = ControlConnection(socketPath: socketPath)
        self.headLimit = headLimit
        self.onUpdate = onUpdate
        self.onEnd = onEnd
    }

    /// Connects in the background.
    ///
    /// - Parameters:
    ///   - path: Relative to the container's root; it need not be that of a directory.
    ///   - headLimit: How long the daemon may take to begin.
    ///   - onUpdate: Gets every line.
    ///   - onEnd: Called once, with the reason: the daemon refused, or is gone, or the connection ended. Not after
    ///     ``stop()``.
    package static func start(
        socketPath: String, path: String, headLimit: Duration = ControlRequests.quickLimit,
        onUpdate: @escaping @Sendable (ItemUpdate) -> Void, onEnd: @escaping @Sendable (ControlError) -> Void
    ) -> ItemFollower {
        let follower = ItemFollower(socketPath, headLimit: headLimit, onUpdate: onUpdate, onEnd: onEnd)
        Thread.detachNewThread { follower.run(FollowRequest(path: path)) }
        return follower
    }

    /// Disconnects. A callback that is running continues; none begins afterwards.
    package func stop() {
        state.withLock { $0.isOver = true }
        connection.cancel()
    }

    private func run(_ request: FollowRequest) {
        do throws(ControlError) {
            try connection.run(HTTPRequest(request), deadline: nil, limits: .init(head: headLimit)) {
                part throws(ControlError) in
                state.withLock { $0.lines.append(part) }
                while let update = try next() { onUpdate(update) }
            }
            end(.daemonUnreachable("it ended the stream"))
        } catch {
            end(error)
        }
    }

    private func next() throws(ControlError) -> ItemUpdate? {
        try state.withLock { state throws(ControlError) in
            state.isOver ? nil : try state.lines.next(ItemUpdate.self)
        }
    }

    private func end(_ error: ControlError) {
        let isFirst = state.withLock { state in
            defer { state.isOver = true }
            return !state.isOver
        }
        if isFirst { onEnd(error) }
    }
}
