import NIOCore

/// Closes a connection of the control API whose peer takes too long: to ask, to send the rest of a request, or to take
/// its answer. One that sends or reads a byte now and then keeps no descriptor of the daemon.
///
///     asking ─head→ sending ─body→ working ─answer→ taking ─end→ resting ─head→ sending …
///       └─ 10 s ──────┘ 10 s                          30 s         30 s
///                                     └─stream→ streaming
///
/// Work has no limit: it ends with the client. Streams have bounds of their own (``LineStream``, ``FollowStream``).
final class ConnectionDeadline: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny
    typealias OutboundIn = NIOAny

    /// Triggered on the channel when a request, or its answer, begins something else.
    enum Phase: Sendable {
        case sending, working, taking, resting, streaming

        fileprivate var limit: TimeAmount? {
            switch self {
            case .sending: ConnectionDeadline.requestLimit
            case .taking: ConnectionDeadline.answerLimit
            case .resting: ConnectionDeadline.restLimit
            case .working, .streaming: nil
            }
        }
    }

    /// How long the head of the first request may take, and the body of each: 10 s.
    static let requestLimit = TimeAmount.seconds(10)
    /// How long a client may take to read an answer: 30 s.
    static let answerLimit = TimeAmount.seconds(30)
    /// How long a connection is kept for a further request: 30 s.
    static let restLimit = TimeAmount.seconds(30)

    private var end: Scheduled<Void>?

    func handlerAdded(context: ChannelHandlerContext) { schedule(Self.requestLimit, context) }

    func handlerRemoved(context: ChannelHandlerContext) { stop() }

    func channelInactive(context: ChannelHandlerContext) {
        stop()
        context.fireChannelInactive()
    }

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        guard let phase = event as? Phase else { return context.triggerUserOutboundEvent(event, promise: promise) }
        stop()
        if let limit = phase.limit { schedule(limit, context) }
        promise?.succeed()
    }

    private func schedule(_ limit: TimeAmount, _ context: ChannelHandlerContext) {
        let channel = context.channel
        end = context.eventLoop.scheduleTask(in: limit) { channel.close(promise: nil) }
    }

    private func stop() {
        end?.cancel()
        end = nil
    }
}
