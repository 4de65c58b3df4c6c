import Glibc
import NIOCore
import NIOHTTP1

/// Ends a connection whose request or response has stalled, as ``TransferWatch`` decides.
///
/// The client's own limit counts from the moment when it has handed over the request, and then takes the time of a slow
/// upload for that of a silent store; and it does not notice a peer that stops reading.
///
/// Belongs to the event loop of its channel.
final class ConnectionWatch: ChannelDuplexHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = HTTPClientResponsePart
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = HTTPClientRequestPart

    private let limits: S3Limits
    /// `nil` between requests.
    private var watch: TransferWatch?
    private var timer: RepeatedTask?
    private var isReading = true

    init(_ limits: S3Limits) { self.limits = limits }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head: begin(context)
        case .body(let body): watch?.sent(body.readableBytes, now: Self.now)
        case .end: break
        }
        context.write(data, promise: promise)
    }

    func read(context: ChannelHandlerContext) {
        isReading = true
        context.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        // An answer that is still to come says nothing, however often.
        case .head(let head) where head.status.code < 200: break
        case .head: watch?.received(0, now: Self.now)
        case .body(let bytes): watch?.received(bytes.readableBytes, now: Self.now)
        case .end: end()
        }
        context.fireChannelRead(data)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        isReading = false
        context.fireChannelReadComplete()
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { end() }

    // MARK: - Private

    /// The clock of the event loop.
    private static var now: Duration { .nanoseconds(Int64(NIODeadline.now().uptimeNanoseconds)) }

    private func begin(_ context: ChannelHandlerContext) {
        watch = TransferWatch(limits, now: Self.now)
        guard timer == nil else { return }
        let interval = TimeAmount(min(limits.send, limits.read) / 8)
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        timer = context.eventLoop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in
            let (watch, context) = bound.value
            watch.check(context)
        }
    }

    private func end() {
        watch = nil
        timer?.cancel()
        timer = nil
    }

    private func check(_ context: ChannelHandlerContext) {
        if !isReading { watch?.isHeldUp(now: Self.now) }
        // Bytes that wait in this process have not been taken by the kernel, which has others that it could not send.
        let counts = SocketCounts(context.channel)
        guard
            let fault = watch?.check(
                acknowledged: counts?.acknowledged, isUnderWay: counts?.isUnderWay ?? false, now: Self.now)
        else { return }
        end()
        context.fireErrorCaught(fault)
        context.close(promise: nil)
    }
}

/// What the kernel says of a TCP connection. Related: tcp(7), `TCP_INFO`; the layout is part of the kernel's interface.
private struct SocketCounts {
    let acknowledged: UInt64
    /// Whether the kernel has bytes that are sent and not acknowledged, or that it cannot send: a peer that reads nothing
    /// acknowledges all that it has taken, and takes no more.
    let isUnderWay: Bool

    private static let byteCount = 148
    private static let unacknowledgedOffset = 24
    private static let acknowledgedOffset = 120
    private static let unsentOffset = 144

    /// - Returns: `nil` when the system does not say, as a kernel before 4.6.
    init?(_ channel: any Channel) {
        let found = try? channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
            of: NIOBSDSocket.Handle.self
        ) { descriptor -> (UInt64, Bool)? in
            var info = [UInt8](repeating: 0, count: Self.byteCount)
            var length = socklen_t(Self.byteCount)
            guard getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, &info, &length) == 0, length == Self.byteCount
            else { return nil }
            return info.withUnsafeBytes { bytes in
                (
                    bytes.loadUnaligned(fromByteOffset: Self.acknowledgedOffset, as: UInt64.self),
                    bytes.loadUnaligned(fromByteOffset: Self.unacknowledgedOffset, as: UInt32.self) > 0
                        || bytes.loadUnaligned(fromByteOffset: Self.unsentOffset, as: UInt32.self) > 0
                )
            }
        }
        guard let found, let (acknowledged, isUnderWay) = found else { return nil }
        self.acknowledged = acknowledged
        self.isUnderWay = isUnderWay
    }
}
