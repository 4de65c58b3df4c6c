import ControlAPI
import FileSystem
import Foundation
import Hummingbird
import HummingbirdCore
import Logging
import Model
import Replica
import ServiceLifecycle

/// The server of the control API: HTTP on a Unix socket.
///
/// The socket has mode 0600 in a directory of mode 0700, so that only its owner and root can connect; the credentials
/// of a client connected all the same, through a descriptor passed to it, are checked (``ControlContext``). Connections
/// have limits in number and in time (``ConnectionDeadline``).
struct ControlServer: Service {
    let socket: ControlSocket
    let responder: ControlResponder
    let logger: Logger
    /// Called when clients can connect.
    let whenListening: @Sendable () -> Void

    func run() async throws {
        // Checked here, since binding would replace a living daemon's socket.
        guard !socket.answers() else {
            throw DaemonError(.busy, "another daemon serves this mountpoint, at \(socket.path); unmount it first")
        }
        let (path, unfinished) = (socket.path, socket.unfinished)
        let application = Application(
            responder: responder,
            server: .http1(
                configuration: HTTP1Channel.Configuration(additionalChannelHandlers: [ConnectionDeadline()])),
            configuration: ApplicationConfiguration(
                address: .unixDomainSocket(path: unfinished),
                availableConnectionsDelegate: .maximum(DescriptorReserve.connectionLimit, logger: logger)),
            onServerRunning: { [whenListening, logger] _ in
                if chmod(unfinished, 0o600) != 0 {
                    logger.error("failed to restrict the control socket to its owner", metadata: ["path": "\(path)"])
                }
                if rename(unfinished, path) != 0 {
                    logger.error(
                        "failed to name the control socket: commands do not find this daemon",
                        metadata: ["path": "\(path)", "error": "\(String(cString: strerror(errno)))"])
                }
                whenListening()
            },
            logger: logger)
        defer { for path in [unfinished, path] { unlink(path) } }
        try await application.run()
    }
}
