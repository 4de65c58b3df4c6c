import NIOCore
import NIOHTTP1

/// Writes the requests of a connection to a proxy in the form that proxies require for plain http: the whole URL in the
/// first line, whose host is that of the header `Host`.
///
///     PUT http://s3.example.com/notes/log/1 HTTP/1.1
///
/// A tunnel, as for https, is refused by many proxies for any port but 443. Source: RFC 9112, section 3.2.2.
final class ForwardedRequests: ChannelOutboundHandler {
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = HTTPClientRequestPart

    private let credentials: String?

    init(credentials: String?) { self.credentials = credentials }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .head(var head) = unwrapOutboundIn(data) else { return context.write(data, promise: promise) }
        head.uri = "http://\(head.headers.first(name: "host") ?? "")\(head.uri)"
        if let credentials { head.headers.replaceOrAdd(name: "proxy-authorization", value: "Basic \(credentials)") }
        context.write(wrapOutboundOut(.head(head)), promise: promise)
    }
}
