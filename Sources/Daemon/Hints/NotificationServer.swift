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

    func run() async throws {
        try await ReachableServer(
            responder: NotificationResponder(hints: hints, prefix: prefix), host: address.host, port: address.port,
            lifetime: Self.lifetime, logger: logger
        ).run()
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
