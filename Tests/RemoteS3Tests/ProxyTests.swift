import Foundation
import Remote
import Testing

@testable import RemoteS3

@Suite(.timeLimit(.minutes(5))) struct ProxyTests {
    private static func proxy(
        _ environment: [String: String], _ url: String
    ) throws -> String? {
        let parts = try #require(URLComponents(string: url))
        return try ProxySettings(environment).proxy(
            isPlain: parts.scheme == "http", host: try #require(parts.host), port: parts.port
        ).map { "\($0.host):\($0.port)" }
    }

    @Test func `each scheme has its own proxy, and names in lower case go first`() throws {
        let environment = [
            "HTTPS_PROXY": "http://secure:3128", "HTTP_PROXY": "http://[::1]:81/", "http_proxy": "plain:82",
        ]
        #expect(try Self.proxy(environment, "https://s3.example.com") == "secure:3128")
        #expect(try Self.proxy(environment, "http://s3.example.com") == "plain:82")
        #expect(try Self.proxy(["HTTP_PROXY": "http://[::1]:81/"], "http://s3.example.com") == "::1:81")
        #expect(try Self.proxy(["HTTPS_PROXY": "http://secure"], "https://s3.example.com") == "secure:80")
        #expect(try Self.proxy(["HTTPS_PROXY": ""], "https://s3.example.com") == nil)
        #expect(try Self.proxy([:], "https://s3.example.com") == nil)
    }

    @Test(arguments: [
        ("example.com", true), (".example.com", true), ("*.example.com", true), ("s3.example.com", true),
        ("s3.example.com:443", true), ("s3.example.com:8443", false), ("ample.com", false), ("*", true),
        ("other.org, example.com", true), ("other.org", false), ("", false), ("10.0.0.0/8", false),
    ])
    func `NO_PROXY names hosts, domains and ports`(exceptions: String, isExcepted: Bool) throws {
        let environment = ["HTTPS_PROXY": "http://secure:3128", "NO_PROXY": exceptions]
        let proxy = try Self.proxy(environment, "https://s3.example.com")
        #expect((proxy == nil) == isExcepted)
    }

    @Test(arguments: [
        ("10.0.0.0/8", "10.1.2.3", true), ("10.0.0.0/8", "11.1.2.3", false), ("10.1.2.3", "10.1.2.3", true),
        ("0.0.0.0/0", "9.9.9.9", true), ("10.0.0.0/33", "10.0.0.0", false), ("", "localhost", true),
        ("", "127.0.0.2", true), ("", "[::1]", true), ("", "192.168.1.1", false),
    ])
    func `NO_PROXY names networks, and this machine is always reached directly`(
        exceptions: String, host: String, isExcepted: Bool
    ) throws {
        let settings = ProxySettings(["HTTP_PROXY": "http://plain:3128", "NO_PROXY": exceptions])
        let proxy = try settings.proxy(isPlain: true, host: host, port: nil)
        #expect((proxy == nil) == isExcepted)
    }

    @Test(arguments: ["https://proxy:1", "socks5://proxy:1", "http://", "http://us er:secret@proxy"])
    func `a variable that names no usable proxy is an error that does not show its value`(value: String) async throws {
        let error = await #expect(throws: StoreError(.unavailable, key: "a")) {
            try await TestStore(endpoint: "http://s3.example.test", variables: ["HTTP_PROXY": value]).store.put(
                "a", .bytes([1]))
        }
        let detail = try #require(error?.detail)
        #expect(detail.contains("HTTP_PROXY must be the URL of a proxy") && !detail.contains("secret"), "\(detail)")
        #expect(error?.remedy == .mendConnection)
    }

    @Test func `a request over plain http is forwarded by the proxy`() async throws {
        let proxy = try ScriptedServer { request in
            request.target.contains("/missing")
                ? .foreign(503, ["Content-Type": "text/html"], Array("<html>no route</html>".utf8)) : .answer(200)
        }
        let test = try TestStore(
            endpoint: "http://s3.example.test:9000", url: "s3://notes/my box",
            variables: ["HTTP_PROXY": "http://me:pa%20ss@127.0.0.1:\(proxy.port)", "NO_PROXY": "example.org"])
        try await test.store.put("a", .bytes(Array("abc".utf8)))
        let request = try #require(proxy.requests.first)
        #expect(request.target == "http://s3.example.test:9000/notes/my%20box/a")
        #expect(request.headers["host"] == "s3.example.test:9000")
        #expect(request.headers["proxy-authorization"] == "Basic " + Data("me:pa ss".utf8).base64EncodedString())
        #expect(
            request.headers["authorization"]?.contains("SignedHeaders=host;x-amz-content-sha256;x-amz-date") == true)
        #expect(request.body == Array("abc".utf8))
        // What the proxy says for itself is not the store's answer, and no reason for a pause.
        await #expect(throws: StoreError(.unavailable, key: "missing")) {
            _ = try await test.store.byteCount(of: "missing")
        }
        // Servers of this machine are reached directly.
        let near = try ScriptedServer { _ in .answer(200) }
        try await TestStore(endpoint: near.url, variables: ["HTTP_PROXY": "http://127.0.0.1:1"]).store.put(
            "a", .bytes([1]))
        #expect(near.requests.map(\.target) == ["/notes/box/a"])
    }
}
