import ControlAPI
import Foundation

/// A request of the control API as it is sent.
struct HTTPRequest: Sendable {
    /// See `ControlRequest.changesSomething`.
    let changesSomething: Bool
    /// The head, and the body unless that is sent later.
    let bytes: [UInt8]

    init(_ request: some ControlRequest) throws(ControlError) {
        let body: Data?
        do {
            body = try request.body
        } catch {
            throw .notUnderstood("\(error)")
        }
        let fields = body.map { "Content-Type: application/json\r\nContent-Length: \($0.count)\r\n" }
        self.init(request, fields ?? "", Array(body ?? Data()))
    }

    /// Its body is lines of JSON, sent as long as the connection lasts.
    init(opening request: OpenSessionRequest) {
        self.init(request, "Content-Type: application/jsonl\r\nTransfer-Encoding: chunked\r\n", [])
    }

    private init<Request: ControlRequest>(_ request: Request, _ fields: String, _ body: [UInt8]) {
        let line = "\(Request.method.rawValue) \(request.target) HTTP/1.1"
        changesSomething = Request.changesSomething
        bytes = Array("\(line)\r\nHost: dewpoint\r\nConnection: close\r\n\(fields)\r\n".utf8) + body
    }

    /// One chunk of a body that is sent later.
    static func chunk(_ bytes: [UInt8]) -> [UInt8] {
        Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + Array("\r\n".utf8)
    }
}
