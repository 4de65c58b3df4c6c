package import HTTPTypes
package import Model
import Synchronization

/// Refuses every request that is not the page's own: loopback alone keeps no other web site and no other user out.
///
/// - A page of another site can send requests here, and by DNS rebinding even read the answers: so the request must
///   name this server as its host, and its origin, if it names one, must be this server.
/// - Other users of the machine can connect: so each request needs the token. The page's own files take it from the
///   query, where the link has it; the API takes it from a header only, which no link and no form can send. Only
///   ``PageFile/reopening``, which is the same for everyone, is answered without.
/// - A form of another site can send a POST without asking first, but not one with JSON.
package final class RequestGuard: Sendable {
    private let token: DashboardToken
    /// The port of this server; 0 until it listens, and then nothing is answered.
    private let port = Atomic(0)

    package init(token: DashboardToken) { self.token = token }

    package func listen(at port: Int) { self.port.store(port, ordering: .releasing) }

    /// The name of the header with the token.
    package static let tokenHeader = "Dewpoint-Token"

    /// Why a request is refused, and the status of the answer; `nil` for one of the page.
    package func refusal(of request: HTTPRequest) -> (status: Int, error: FileError)? {
        let port = port.load(ordering: .acquiring)
        let hosts = ["127.0.0.1:\(port)", "localhost:\(port)"]
        guard let host = request.authority, hosts.contains(host) else {
            return (421, FileError(.denied, "the Host must be \(hosts[0]) or \(hosts[1])"))
        }
        if let origin = Self.value("Origin", request), origin != "http://\(host)" {
            return (403, FileError(.denied, "requests of other pages are refused"))
        }
        let isForEveryone = request.method == .get && request.path == PageFile.reopening.rawValue
        guard isForEveryone || hasToken(request) else {
            return (
                401, FileError(.denied, "the token is missing or wrong; open the link that dewpoint dashboard prints")
            )
        }
        switch request.method {
        case .get: return nil
        case .post:
            let type = Self.value("Content-Type", request)?.prefix { $0 != ";" }.lowercased()
            guard type == "application/json" else {
                return (415, FileError(.invalid, "the Content-Type must be application/json"))
            }
            return nil
        default: return (405, FileError(.unsupported, "only GET and POST are answered"))
        }
    }

    private func hasToken(_ request: HTTPRequest) -> Bool {
        if let given = Self.value(Self.tokenHeader, request) { return token.matches(given) }
        let target = request.path ?? ""
        guard request.method == .get, !target.hasPrefix("/api/"), let mark = target.firstIndex(of: "?") else {
            return false
        }
        let fields = target[target.index(after: mark)...].split(separator: "&")
        guard let field = fields.first(where: { $0.hasPrefix("token=") }) else { return false }
        return token.matches(field.dropFirst("token=".count))
    }

    /// The value of a header; values that are given twice are joined, and so are refused.
    private static func value(_ name: String, _ request: HTTPRequest) -> String? {
        HTTPField.Name(name).flatMap { request.headerFields[$0] }
    }
}
