import Glibc
import Hummingbird
import NIOCore

/// What is known of a control request beside the request: who is at the other end of the socket.
struct ControlContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    private let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }

    /// The process that connected, as the kernel noted it then: `struct ucred`, see unix(7).
    struct Peer: Sendable {
        var process: Int32
        var user: UInt32
        var group: UInt32

        /// The daemon's own user, and root.
        var mayAsk: Bool { user == geteuid() || user == 0 }
    }

    /// Asks for `SO_PEERCRED`.
    func peer() async throws -> Peer {
        guard let options = channel as? any SocketOptionProvider else { throw ChannelError.operationUnsupported }
        return try await options.unsafeGetSocketOption(level: .socket, name: NIOBSDSocket.Option(rawValue: SO_PEERCRED))
            .get()
    }
}
