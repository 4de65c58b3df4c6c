import NIOCore

/// Closes a connection on which no request with the token has arrived some time after it was made: every user of the
/// machine can connect, and one that sends or reads a byte now and then must not keep the page out.
final class StrangerDeadline: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny
    typealias OutboundIn = NIOAny

    /// Triggered on the channel when a request of the page was recognized.
    struct Admission: Sendable {}

    /// 10 s.
    static let limit = TimeAmount.seconds(10)

    private var end: Scheduled<Void>?

    func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        end = context.eventLoop.scheduleTask(in: Self.limit) { channel.close(promise: nil) }
    }

    func handlerRemoved(context: ChannelHandlerContext) { stop() }

    func channelInactive(context: ChannelHandlerContext) {
        stop()
        context.fireChannelInactive()
    }

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        guard event is Admission else { return context.triggerUserOutboundEvent(event, promise: promise) }
        stop()
        promise?.succeed()
    }

    private func stop() {
        end?.cancel()
        end = nil
    }
}
