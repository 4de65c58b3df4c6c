import Glibc
import Hummingbird
import NIOCore

/// The context of a control request: the peer of the socket.
struct ControlContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    private let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }

    /// Closes the connection, whatever is being written to it.
    func disconnect() { channel.close(promise: nil) }

    /// What the connection does from now on, and so how long it may take.
    func enter(_ phase: ConnectionDeadline.Phase) { channel.triggerUserOutboundEvent(phase, promise: nil) }

    var executor: EventLoopTaskExecutor { EventLoopTaskExecutor(channel.eventLoop) }

    /// The process that connected, as the kernel recorded it then: `struct ucred`, see unix(7).
    struct Peer: Sendable {
        var process: Int32
        var user: UInt32
        var group: UInt32

        /// The daemon's own user, and root.
        var mayAsk: Bool { user == geteuid() || user == 0 }
    }

    /// A pidfd of the process that connected, valid even if its id is reused; the caller closes it.
    ///
    /// Related: `SO_PEERPIDFD` in unix(7), since Linux 6.5.
    func peerDescriptor() async -> Int32? {
        guard let options = channel as? any SocketOptionProvider else { return nil }
        let name = NIOBSDSocket.Option(rawValue: Self.peerDescriptorOption)
        // Not supported by older kernels: the process is then identified by its id.
        let descriptor: Int32? = try? await options.unsafeGetSocketOption(level: .socket, name: name).get()
        return descriptor
    }

    private static let peerDescriptorOption: Int32 = 77

    /// Asks for `SO_PEERCRED`.
    func peer() async throws -> Peer {
        guard let options = channel as? any SocketOptionProvider else { throw ChannelError.operationUnsupported }
        return try await options.unsafeGetSocketOption(level: .socket, name: NIOBSDSocket.Option(rawValue: SO_PEERCRED))
            .get()
    }
}
