import ControlClient
import Dispatch
import Model

/// One container that a query follows: connects, and connects again when its daemon has ended. Used on one queue only.
final class FollowedContainer {
    let scope: MetadataScope
    private let number: Int
    private let stream: ItemStream
    private var items: FollowedItems
    private var stopStream: (@Sendable () -> Void)?
    /// Counts connections, so that updates of an earlier one are ignored.
    private var connection = 0
    private var retryDelay = FollowedContainer.retryDelays.lowerBound
    private var hasListed = false

    /// The waits between two attempts to connect: each is twice the one before.
    static let retryDelays = Duration.milliseconds(250)...Duration.seconds(5)

    init(_ scope: MetadataScope, number: Int, stream: ItemStream) {
        self.scope = scope
        self.number = number
        self.stream = stream
        items = FollowedItems(source: number)
    }

    /// - Parameters:
    ///   - onUpdate: Called with the number of the connection, on any thread.
    ///   - onEnd: Called with the number of the connection, on any thread.
    func connect(
        onUpdate: @escaping @Sendable (Int, ItemUpdate) -> Void, onEnd: @escaping @Sendable (Int, ControlError) -> Void
    ) {
        connection += 1
        let connection = connection
        items.restart()
        stopStream = stream.start(
            scope.mountpoint, scope.followedPath, { onUpdate(connection, $0) }, { onEnd(connection, $0) })
    }

    /// Whether the connection is a later one: what it lists is compared with what was known.
    var isReconnection: Bool { hasListed }

    func isCurrent(_ connection: Int) -> Bool { connection == self.connection }

    func apply(_ update: ItemUpdate) -> [FollowedItems.Change] {
        if case .gathered = update {
            hasListed = true
            retryDelay = Self.retryDelays.lowerBound
        }
        return items.apply(update)
    }

    /// The connection has ended.
    /// - Returns: How long to wait before the next one.
    func ended() -> Duration {
        stopStream = nil
        defer { retryDelay = min(retryDelay * 2, Self.retryDelays.upperBound) }
        return retryDelay
    }

    func stop() {
        connection += 1
        stopStream?()
        stopStream = nil
    }
}
