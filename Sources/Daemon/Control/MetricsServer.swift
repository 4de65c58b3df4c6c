import ControlAPI
import Glibc
import Hummingbird
import Logging
import Model
import NIOCore
import ServiceLifecycle

/// Serves ``Monitoring`` on a port of 127.0.0.1: for monitors that cannot use the control socket. Every user of the
/// machine can read it.
struct MetricsServer: Service {
    let port: Int
    let monitoring: Monitoring
    let logger: Logger

    private static let host = "127.0.0.1"
    private static let lifetime = TimeAmount.seconds(10)

    func run() async throws {
        try await ReachableServer(
            responder: MetricsResponder(monitoring: monitoring), host: Self.host, port: port, lifetime: Self.lifetime,
            logger: logger
        ).run()
    }

    /// Checks that the port is free, before anything is mounted.
    static func check(port: Int) throws(DaemonError) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var reuse: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &reuse, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) }
        }
        guard result != 0 else { return }
        throw DaemonError(
            errno == EACCES ? .denied : .busy,
            errno == EACCES
                ? "ports below 1024 are for root; choose another: -o metrics_port=PORT"
                : "port \(port) of \(host) is in use; choose another: -o metrics_port=PORT")
    }
}

private struct MetricsResponder: HTTPResponder {
    typealias Context = BasicRequestContext

    let monitoring: Monitoring

    func respond(to request: Request, context: BasicRequestContext) async throws -> Response {
        guard request.method == .get else { return Response(status: .methodNotAllowed) }
        switch request.uri.path {
        case MetricsRequest.route:
            do throws(FileError) {
                return try monitoring.metrics()
            } catch {
                return Response(status: .serviceUnavailable)
            }
        case HealthRequest.route: return monitoring.health()
        default: return Response(status: .notFound)
        }
    }
}
