import Hummingbird
import Logging
import Model
import NIOCore
import ServiceLifecycle
import Sync

/// Takes the calls of a store that reports new objects over HTTP, like the bucket notifications of S3.
///
/// Whoever reaches the port can make this device look at the log, once a second at most; nothing else is taken from a call.
struct NotificationServer: Service {
    let address: HintAddress
    let hints: CommitHints
    /// Of the container's keys.
    let prefix: String
    let logger: Logger

    private static let lifetime = TimeAmount.seconds(60)
    /// How many bytes of a call are read: 1 MiB.
    fileprivate static let byteLimit = 1 << 20

    /// How long until the port is tried again: 30 s.
    private static let retryInterval = Duration.seconds(30)

    /// Serves until it is told to stop. A port that cannot be opened, because the network is not there yet say, does not end
    /// the mount: it is tried again.
    func run() async throws {
        var isReported = false
        while !Task.isCancelled, !Task.isShuttingDownGracefully {
            do {
                return try await ReachableServer(
                    responder: NotificationResponder(hints: hints, prefix: prefix), host: address.host,
                    port: address.port, lifetime: Self.lifetime, logger: logger
                ).run()
            } catch {
                if !isReported {
                    logger.error(
                        "the port of notify cannot be opened; trying again",
                        metadata: ["port": "\(address.port)", "error": "\(error)"])
                }
                isReported = true
                try? await cancelWhenGracefulShutdown { try await Task.sleep(for: Self.retryInterval) }
            }
        }
    }
}

private struct NotificationResponder: HTTPResponder {
    typealias Context = BasicRequestContext

    let hints: CommitHints
    let prefix: String

    func respond(to request: Request, context: BasicRequestContext) async throws -> Response {
        guard request.method == .post else { return Response(status: .methodNotAllowed) }
        guard let body = try? await request.body.collect(upTo: NotificationServer.byteLimit) else {
            return Response(status: .contentTooLarge)
        }
        switch StoreNotification(Array(body.readableBytesView), prefix: prefix) {
        case .commit(let number): hints.notified(of: number)
        case .unknown: hints.notified(of: nil)
        case .others: break
        }
        return Response(status: .ok)
    }
}
