import NIOCore

/// Closes a connection some time after it was made, whatever its peer does: one that sends or reads a byte now and then
/// keeps no descriptor of the daemon.
final class ConnectionLifetime: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny

    private let limit: TimeAmount

    init(_ limit: TimeAmount) { self.limit = limit }

    func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        let end = context.eventLoop.scheduleTask(in: limit) { channel.close(promise: nil) }
        channel.closeFuture.whenComplete { _ in end.cancel() }
    }
}
