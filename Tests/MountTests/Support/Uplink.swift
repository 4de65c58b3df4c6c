import Foundation
import Programs
import S3Server
import Synchronization
import Testing

/// The link between the devices of a test and the server, which can be cut: open connections break, and new ones are
/// refused.
final class Uplink: Sendable {
    private let forwarder = Mutex<Program?>(nil)
    private let port: Int
    private let serverPort: Int

    struct NoPort: Error {}

    init(to server: S3Server) throws {
        guard let url = URL(string: server.endpoint), let serverPort = url.port else { throw NoPort() }
        self.serverPort = serverPort
        port = FreePort.random()
    }

    /// The server's endpoint through this link.
    var endpoint: String { "http://127.0.0.1:\(port)" }

    func connect() async throws { try await run("forwarder.py", "\(serverPort)") }

    /// Connects, and has `forwarder.py` write down what is requested from then on.
    func connect(writingTo log: String) async throws {
        cut()
        try await run("forwarder.py", "\(serverPort)", log)
    }

    /// A stranger answers every request instead of the server: `portal.py`'s kinds.
    func connectToPortal(_ kind: String) async throws {
        cut()
        try await run("portal.py", kind)
    }

    private func run(_ driver: String, _ arguments: String...) async throws {
        let program = try Program(
            [Requirement.python, Driver.path(driver), "\(port)"] + arguments, log: "/dev/null")
        forwarder.withLock { $0 = program }
        try await eventually("the line is up") {
            try await Command.run(["curl", "--silent", "--output", "/dev/null", endpoint + "/"]).succeeded
        }
    }

    func cut() {
        let program = forwarder.withLock { forwarder in
            defer { forwarder = nil }
            return forwarder
        }
        program?.end()
    }
}
