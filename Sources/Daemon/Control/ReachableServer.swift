import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import ServiceLifecycle

/// An HTTP server that others can connect to: they may neither take the daemon's descriptors, nor keep each other out for
/// long.
struct ReachableServer<Responder: HTTPResponder>: Service where Responder.Context == BasicRequestContext {
    let responder: Responder
    let host: String
    let port: Int
    /// How long a connection lasts.
    let lifetime: TimeAmount
    let logger: Logger

    /// The most connections at a time: 64.
    private static var connectionLimit: Int { 64 }

    func run() async throws {
        let application = Application(
            responder: responder,
            server: .http1(
                configuration: HTTP1Channel.Configuration(additionalChannelHandlers: [ConnectionLifetime(lifetime)])),
            configuration: ApplicationConfiguration(
                address: .hostname(host, port: port),
                availableConnectionsDelegate: .maximum(Self.connectionLimit, logger: logger)),
            logger: logger)
        try await application.run()
    }
}
