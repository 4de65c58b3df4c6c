import ControlAPI
import Foundation

/// A request of the control API.
struct ControlRequest: Sendable {
    let route: ControlRoute
    let method: ControlRoute.Method
    /// With its `?`; percent-encoded.
    let query: String
    let body: Body

    enum Body: Sendable {
        case none
        case json(Data)
        /// Lines of JSON, sent as long as the connection lasts.
        case lines
    }

    init(_ route: ControlRoute, query: String = "") {
        self.init(route, route.method, query: query, .none)
    }

    /// A route that both shows and changes something is asked with GET otherwise.
    init(_ route: ControlRoute, _ body: some Encodable) throws(ControlError) {
        do {
            self.init(route, .post, query: "", .json(try ControlJSON.encode(body)))
        } catch {
            throw .notUnderstood("\(error)")
        }
    }

    /// - Parameter query: See ``ControlRoute/withholdingDownloads``.
    static func session(query: String) -> ControlRequest { ControlRequest(.session, .post, query: query, .lines) }

    private init(_ route: ControlRoute, _ method: ControlRoute.Method, query: String, _ body: Body) {
        self.route = route
        self.method = method
        self.query = query
        self.body = body
    }

    /// Whether the container, or what its daemon does, is another afterwards. Claims end with their session.
    var changesSomething: Bool { method == .post && route != .check && route != .session }

    /// The head, and the body unless that is sent later.
    var bytes: [UInt8] {
        var text = "\(method.rawValue) \(route.path)\(query) HTTP/1.1\r\nHost: dewpoint\r\nConnection: close\r\n"
        switch body {
        case .none: return Array("\(text)\r\n".utf8)
        case .json(let data):
            text += "Content-Type: application/json\r\nContent-Length: \(data.count)\r\n\r\n"
            return Array(text.utf8) + data
        case .lines:
            text += "Content-Type: application/jsonl\r\nTransfer-Encoding: chunked\r\n\r\n"
            return Array(text.utf8)
        }
    }

    /// One chunk of a body that is sent later.
    static func chunk(_ bytes: [UInt8]) -> [UInt8] {
        Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + Array("\r\n".utf8)
    }
}
