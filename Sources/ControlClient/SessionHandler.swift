import ControlAPI
import Foundation
import Model
import NIOCore
import NIOHTTP1

/// The client's end of a session's connection: one HTTP request and one answer, both as long as the session.
///
/// Writes lines as chunks of the request's body, and gives the lines of the answer's body to the session.
final class SessionHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = HTTPClientRequestPart

    private let session: ControlSession
    /// The request target: path and query.
    private let target: String
    private var lines = LineReader.ofDaemon
    /// The status and the body of an answer other than 200.
    private var refusal: (status: UInt, body: Data)?
    private var watch: RepeatedTask?

    /// The interval of checks whether the daemon has stopped answering.
    static let watchInterval = TimeAmount.seconds(5)

    init(_ session: ControlSession, target: String) {
        self.session = session
        self.target = target
    }

    func channelActive(context: ChannelHandlerContext) {
        let headers: HTTPHeaders = [
            "Host": "dewpoint", "Content-Type": "application/jsonl", "Transfer-Encoding": "chunked",
        ]
        let head = HTTPRequestHead(version: .http1_1, method: .POST, uri: target, headers: headers)
        context.writeAndFlush(wrapOutboundOut(.head(head)), promise: nil)
        watch = context.eventLoop.scheduleRepeatedTask(initialDelay: Self.watchInterval, delay: Self.watchInterval) {
            [weak session] _ in session?.endIfSilent()
        }
        context.fireChannelActive()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        context.write(wrapOutboundOut(.body(.byteBuffer(unwrapOutboundIn(data)))), promise: promise)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            if head.status != .ok { refusal = (head.status.code, Data()) }
        case .body(let bytes):
            if refusal != nil {
                // Longer than any message: the rest is dropped.
                guard refusal!.body.count < ControlRoute.bodyByteLimit else { return }
                refusal!.body.append(contentsOf: bytes.readableBytesView)
            } else {
                read(bytes, context)
            }
        case .end:
            session.end(
                refusal.map { ControlClient.refusal($0.status, $0.body) } ?? .daemonUnreachable("it ended the session"))
            context.close(promise: nil)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        watch?.cancel()
        session.end(.daemonUnreachable("the connection ended"))
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        session.end(.daemonUnreachable(ControlClient.reason(error)))
        context.close(promise: nil)
    }

    private func read(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
        lines.append(bytes)
        do throws(ControlError) {
            while let event = try lines.next(SessionEvent.self) { session.receive(event) }
        } catch {
            session.end(error)
            context.close(promise: nil)
        }
    }
}
