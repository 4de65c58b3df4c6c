import Foundation
import Hummingbird
import HummingbirdCore
package import Logging
import NIOCore
import ServiceLifecycle
import UnixSignals

/// Serves the dashboard at 127.0.0.1, until SIGINT or SIGTERM.
package struct DashboardServer: Sendable {
    /// The address of a running dashboard.
    package struct Address: Hashable, Sendable, Codable {
        package var port: Int
        /// With the token.
        package var url: String
    }

    private let port: Int
    private let containers: DashboardContainers
    private let logger: Logger

    /// - Parameter port: 0 for any free one.
    package init(port: Int, containers: DashboardContainers = DashboardContainers(), logger: Logger) {
        self.port = port
        self.containers = containers
        self.logger = logger
    }

    /// The most connections at a time: a browser has six for each tab.
    private static let connectionLimit = 256
    /// How long answers may take to end at the end.
    private static let shutdownLimit = Duration.seconds(5)

    /// - Parameter whenListening: Called once, when a browser can connect.
    package func run(whenListening: @escaping @Sendable (Address) -> Void) async throws(DashboardError) {
        let token = DashboardToken()
        let guardian = RequestGuard(token: token)
        let proxy = ContainerProxy()
        let application = Application(
            responder: DashboardResponder(
                guardian: guardian, containers: containers, proxy: proxy, token: token, logger: logger),
            server: .http1(configuration: HTTP1Channel.Configuration(additionalChannelHandlers: [StrangerDeadline()])),
            configuration: ApplicationConfiguration(
                address: .hostname("127.0.0.1", port: port),
                availableConnectionsDelegate: .maximum(Self.connectionLimit, logger: logger)),
            onServerRunning: { channel in
                guard let port = channel.localAddress?.port else { return }
                guardian.listen(at: port)
                whenListening(Address(port: port, url: "http://127.0.0.1:\(port)/?token=\(token.text)"))
            }, logger: logger)
        var configuration = ServiceGroupConfiguration(
            services: [application, ProxyService(proxy: proxy)], gracefulShutdownSignals: [.sigint, .sigterm],
            logger: logger)
        configuration.maximumGracefulShutdownDuration = Self.shutdownLimit
        let failure: (any Error)?
        do {
            try await ServiceGroup(configuration: configuration).run()
            failure = nil
        } catch {
            failure = error
        }
        await proxy.shutDown()
        if let failure { throw dashboardError(failure) }
    }

    private func dashboardError(_ error: any Error) -> DashboardError {
        switch (error as? IOError)?.errnoCode {
        case EADDRINUSE: .portInUse(port)
        case EACCES: .portDenied(port)
        default: .failed("\(error)")
        }
    }
}

/// The last service, and so the first to end: the server waits for its answers, which wait for the daemons'.
private struct ProxyService: Service {
    let proxy: ContainerProxy

    func run() async throws {
        try await gracefulShutdown()
        await proxy.shutDown()
    }
}
