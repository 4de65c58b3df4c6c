import Dashboard
import HTTPTypes
import Model
import Testing

/// Which requests the dashboard answers at all.
@Suite struct RequestGuardTests {
    private static let port = 4711
    private static let own = "127.0.0.1:4711"
    private let token = DashboardToken()

    private func guardian() -> RequestGuard {
        let guardian = RequestGuard(token: token)
        guardian.listen(at: Self.port)
        return guardian
    }

    private func request(
        _ method: HTTPRequest.Method = .get, _ path: String, host: String? = own, token: String? = nil,
        _ fields: [String: String] = [:]
    ) -> HTTPRequest {
        var request = HTTPRequest(method: method, scheme: "http", authority: host, path: path)
        for (name, value) in fields { request.headerFields[HTTPField.Name(name)!] = value }
        if let token { request.headerFields[HTTPField.Name(RequestGuard.tokenHeader)!] = token }
        return request
    }

    private func status(_ request: HTTPRequest) -> Int? { guardian().refusal(of: request)?.status }

    private static let list = "/api/containers"

    @Test(arguments: ["127.0.0.1:4711", "localhost:4711"])
    func `the page's own requests are answered`(host: String) {
        let origin = ["Origin": "http://\(host)"]
        #expect(status(request(.get, Self.list, host: host, token: token.text)) == nil)
        #expect(status(request(.get, Self.list, host: host, token: token.text, origin)) == nil)
        for type in ["application/json", "Application/JSON; charset=utf-8"] {
            let fields = origin.merging(["Content-Type": type]) { $1 }
            #expect(status(request(.post, Self.list, host: host, token: token.text, fields)) == nil)
        }
        for file in ["/", "/dashboard.css", "/dashboard.js"] {
            #expect(status(request(.get, "\(file)?token=\(token.text)", host: host)) == nil)
        }
    }

    @Test(arguments: [
        nil, "", "127.0.0.1", "localhost", "127.0.0.1:4712", "evil.example:4711", "127.0.0.1:4711.evil.example",
        "[::1]:4711", "127.0.0.1:4711@evil.example", "LOCALHOST:4711",
    ])
    func `a host other than this server is refused, since a name server may say anything`(host: String?) {
        #expect(status(request(.get, Self.list, host: host, token: token.text)) == 421)
        #expect(status(request(.get, "/?token=\(token.text)", host: host)) == 421)
    }

    @Test(arguments: [
        "http://evil.example", "null", "", "https://127.0.0.1:4711", "http://127.0.0.1:4712", "http://localhost:4711",
        "http://127.0.0.1:4711/", "file://",
    ])
    func `another origin is refused, whatever token it has`(origin: String) {
        #expect(status(request(.get, Self.list, token: token.text, ["Origin": origin])) == 403)
        let fields = ["Origin": origin, "Content-Type": "application/json"]
        #expect(status(request(.post, Self.list, token: token.text, fields)) == 403)
        #expect(status(request(.get, "/?token=\(token.text)", ["Origin": origin])) == 403)
    }

    @Test func `a missing or wrong token is refused`() {
        let wrong = String(token.text.reversed())
        for text in [nil, "", wrong, String(token.text.dropLast()), token.text + "0", token.text.uppercased() + "x"] {
            #expect(status(request(.get, Self.list, token: text)) == 401)
            #expect(status(request(.post, Self.list, token: text, ["Content-Type": "application/json"])) == 401)
        }
        for query in [
            "", "?", "?token", "?token=", "?token=\(wrong)", "?tokens=\(token.text)", "?x=token=\(token.text)",
        ] {
            for file in ["/", "/dashboard.css", "/dashboard.js"] { #expect(status(request(.get, file + query)) == 401) }
        }
    }

    @Test func `the script that opens the page again needs no token, but a host and an origin as all do`() {
        #expect(status(request(.get, "/reopen.js")) == nil)
        #expect(status(request(.get, "/reopen.js", host: "evil.example:4711")) == 421)
        #expect(status(request(.get, "/reopen.js", ["Origin": "http://evil.example"])) == 403)
        for path in ["/reopen.js?", "/reopen.js/", "//reopen.js", "/reopen.js/../dashboard.js"] {
            #expect(status(request(.get, path)) == 401)
        }
        #expect(status(request(.post, "/reopen.js", ["Content-Type": "application/json"])) == 401)
    }

    @Test func `the API takes the token from its header only, which no link and no form can send`() {
        let query = "?token=\(token.text)"
        #expect(status(request(.get, Self.list + query)) == 401)
        #expect(status(request(.post, Self.list + query, ["Content-Type": "application/json"])) == 401)
        #expect(status(request(.post, "/" + query, ["Content-Type": "application/json"])) == 401)
        // A wrong header is not outweighed by a right query.
        #expect(status(request(.get, "/" + query, token: "0")) == 401)
    }

    @Test(arguments: [
        nil, "", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "text/json",
        "application/jsonp",
    ])
    func `a write that is not JSON is refused, as a form of another page would send it`(type: String?) {
        let fields = type.map { ["Content-Type": $0] } ?? [:]
        #expect(status(request(.post, Self.list, token: token.text, fields)) == 415)
    }

    @Test(arguments: [HTTPRequest.Method.put, .delete, .options, .head, .patch])
    func `other methods are refused, the question before a request of another origin too`(method: HTTPRequest.Method) {
        #expect(status(request(method, Self.list, token: token.text)) == 405)
        #expect(status(request(method, Self.list)) == 401)
    }

    @Test func `nothing is answered before the port is known`() {
        let early = RequestGuard(token: token)
        #expect(early.refusal(of: request(.get, Self.list, token: token.text))?.status == 421)
    }

    @Test func `each run has another token, of 256 bits`() {
        let texts = (0..<100).map { _ in DashboardToken().text }
        #expect(Set(texts).count == 100)
        #expect(texts.allSatisfy { $0.count == 64 && $0.allSatisfy(\.isHexDigit) })
        #expect(token.matches(token.text))
        for index in 0..<64 {
            var digits = Array(token.text)
            digits[index] = digits[index] == "0" ? "1" : "0"
            #expect(!token.matches(String(digits)))
        }
    }
}
