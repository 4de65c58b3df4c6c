import ArgumentParser
import ControlAPI
import Daemon
import Dashboard
import Foundation
import Logging
import Model

struct DashboardCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dashboard", abstract: "Shows the mounted containers in a browser on this machine.",
        discussion: """
            Serves a page at 127.0.0.1 until Control-C, prints its link, and opens it in a browser if there is a display. \
            The link has a secret token, which is new at each start. Anyone who has the link can do with your containers \
            what the page can: do not pass it on.
            """)

    @Argument(help: "The container, or the directory in it, to begin with.", completion: .file())
    var path: String?

    @Option(help: "The port to listen at; 0 for any free one.")
    var port = 0

    @Flag(help: "Print the link only, and open no browser.")
    var noOpen = false

    @Flag(help: "Print the port and the link as a JSON object.")
    var json = false

    func validate() throws {
        guard (0...65535).contains(port) else { throw ValidationError("--port must be 0 to 65535") }
    }

    func run() async throws {
        // A page or a reader that goes away must not end the dashboard.
        signal(SIGPIPE, SIG_IGN)
        let start = try path.map { Self.start(at: try MountedPath($0)) } ?? ""
        let launcher = noOpen ? nil : BrowserLauncher(environment: ProcessInfo.processInfo.environment)
        let server = DashboardServer(port: port, logger: DaemonService.logger("dashboard", level: .warning))
        let isJSON = json
        do throws(DashboardError) {
            try await server.run { address in
                var address = address
                address.url += start
                Self.announce(address, isJSON)
                launcher?.open(address.url)
            }
        } catch {
            launcher?.removePage()
            throw Self.failure(error)
        }
        launcher?.removePage()
    }

    /// The part of the link that names a container and a directory; the browser keeps it for the page.
    private static func start(at place: MountedPath) -> String {
        let path = place.path.isEmpty ? "" : "/\(ControlQuery.encoded(place.path))"
        return "#\(ControlSocket.identifier(of: place.mount.mountpoint))\(path)"
    }

    private static func announce(_ address: DashboardServer.Address, _ isJSON: Bool) {
        let text = isJSON ? (try? ControlJSON.encode(address)).map { String(decoding: $0, as: UTF8.self) } : nil
        // On a closed pipe there is nobody to tell; the browser may be open all the same.
        try? FileHandle.standardOutput.write(contentsOf: Data("\(text ?? address.url)\n".utf8))
    }

    private static func failure(_ error: DashboardError) -> CommandFailure {
        switch error {
        case .portInUse(let port):
            CommandFailure(.busy, "another program listens at port \(port); choose another --port, or give none")
        case .portDenied(let port):
            CommandFailure(.denied, "only root may listen at port \(port); choose a --port from 1024 up, or give none")
        case .failed(let reason): CommandFailure(.failed, "the dashboard cannot be served: \(reason)")
        }
    }
}
