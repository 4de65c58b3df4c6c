import NIOCore
import NIOPosix

/// Sockets for datagrams.
enum HintSocket {
    /// - Parameters:
    ///   - address: With port 0 for a free one.
    ///   - isShared: Whether all daemons of this machine may open it.
    /// - Throws: `IOError` when it cannot be opened.
    static func open(
        at address: SocketAddress, isShared: Bool = false,
        _ received: @escaping @Sendable (_ bytes: [UInt8], _ address: String) -> Void = { _, _ in }
    ) async throws -> any Channel {
        try await DatagramBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.socketOption(.so_reuseaddr), value: isShared ? 1 : 0)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(HintReceiver(received))
                }
            }
            .bind(to: address).get()
    }

    /// Sends a datagram, if that is possible at the moment: a hint that is lost is made up for by the next look.
    static func send(_ bytes: [UInt8], to address: SocketAddress, through channel: any Channel) {
        guard channel.isWritable else { return }
        channel.writeAndFlush(AddressedEnvelope(remoteAddress: address, data: ByteBuffer(bytes: bytes)), promise: nil)
    }
}
