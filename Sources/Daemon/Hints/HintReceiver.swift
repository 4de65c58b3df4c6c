import NIOCore

/// Takes datagrams from a socket, at a bounded rate: what comes above it stays in the kernel, which drops it.
final class HintReceiver: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>

    /// The most datagrams that a socket takes within a second: those of 64 devices that all commit several times.
    static let limit = 500

    private let received: @Sendable (_ bytes: [UInt8], _ address: String) -> Void
    private var count = 0
    private var began: NIODeadline?

    init(_ received: @escaping @Sendable (_ bytes: [UInt8], _ address: String) -> Void) { self.received = received }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let envelope = Self.unwrapInboundIn(data)
        let now = context.eventLoop.now
        if began.map({ now - $0 >= .seconds(1) }) ?? true { (began, count) = (now, 0) }
        count += 1
        // What the channel has read already, a few datagrams, is dropped too.
        guard count <= Self.limit else { return }
        if count == Self.limit { pause(context.channel) }
        received(Array(envelope.data.readableBytesView), Self.text(envelope.remoteAddress))
    }

    /// One of IPv4 as such, also where a socket of IPv6 has it.
    private static func text(_ address: SocketAddress) -> String {
        let text = address.ipAddress ?? ""
        return text.utf8.starts(with: "::ffff:".utf8) ? String(text.dropFirst(7)) : text
    }

    private func pause(_ channel: any Channel) {
        channel.setOption(.autoRead, value: false).whenComplete { _ in }
        channel.eventLoop.scheduleTask(in: .seconds(1)) {
            channel.setOption(.autoRead, value: true).whenComplete { _ in }
        }
    }

    /// As when a peer's port is closed: the next datagram may arrive.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {}
}
