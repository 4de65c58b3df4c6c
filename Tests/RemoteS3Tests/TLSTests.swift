import Foundation
import Programs
import Remote
import S3Server
import Testing

@testable import RemoteS3

@Suite(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/openssl"), "openssl is not installed"))
struct TLSTests {
    private static let openssl = "/usr/bin/openssl"

    /// A server with a certificate that it has signed itself; it answers with a page.
    private static func server(
        _ directory: TemporaryDirectory
    ) async throws -> (server: Program, port: UInt16, certificate: String) {
        let (key, certificate) = (directory.file("key"), directory.file("certificate"))
        try await Program.run([
            openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
            "2", "-subj", "/CN=localhost", "-addext",
            "subjectAltName=DNS:localhost,DNS:s3.example.test,IP:127.0.0.1", "-keyout", key, "-out", certificate,
        ])
        // A port that was free a moment ago.
        let port = try ScriptedServer { _ in .reset }.port
        let server = try Program([
            openssl, "s_server", "-accept", "\(port)", "-key", key, "-cert", certificate, "-www", "-quiet",
        ])
        return (server, port, certificate)
    }

    /// The error of a request, once the server listens.
    private static func error(_ endpoint: String, _ variables: [String: String]) async throws -> StoreError? {
        let end = ContinuousClock.now + .seconds(30)
        while true {
            let test = try TestStore(endpoint: endpoint, variables: variables)
            // The server answers only to GET.
            let error = await #expect(throws: StoreError(.unavailable, key: "a")) {
                _ = try await test.store.get("a", range: nil)
            }
            let isEarly = error?.detail.contains("refused") == true || error?.detail.contains("closed") == true
            guard isEarly, ContinuousClock.now < end else { return error }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    @Test(.timeLimit(.minutes(5)), arguments: ["AWS_CA_BUNDLE", "SSL_CERT_FILE"])
    func `an authority of the environment is trusted, and no other instead of one that cannot be read`(
        variable: String
    ) async throws {
        let directory = try TemporaryDirectory()
        let (server, port, certificate) = try await Self.server(directory)
        defer { server.end() }
        let url = "https://localhost:\(port)"
        // The answer is a page: the connection was made.
        let trusted = try await Self.error(url, [variable: certificate])
        #expect(trusted?.detail.contains("does not come from the store") == true, "\(trusted?.detail ?? "")")
        let missing = try await Self.error(url, [variable: "/nonexistent"])
        #expect(missing?.detail.contains("\(variable) is /nonexistent, which is not a readable") == true)
        #expect(missing?.remedy == .mendConnection)
    }

    @Test(.timeLimit(.minutes(5)))
    func `an https request goes through a tunnel of the proxy, end to end encrypted`() async throws {
        let directory = try TemporaryDirectory()
        let (server, port, certificate) = try await Self.server(directory)
        defer { server.end() }
        let tunnel = try Tunnel(to: port)
        let found = try await Self.error(
            "https://s3.example.test",
            ["HTTPS_PROXY": "http://me:secret@\(tunnel.authority)", "AWS_CA_BUNDLE": certificate])
        #expect(found?.detail.contains("does not come from the store") == true, "\(found?.detail ?? "")")
        let head = try #require(tunnel.requests.last).lowercased()
        #expect(head.hasPrefix("connect s3.example.test:443 http/1.1"))
        #expect(head.contains("proxy-authorization: basic bwu6c2vjcmv0"))
    }

    @Test(.timeLimit(.minutes(5)))
    func `an untrusted certificate is refused at once, and the error says so`() async throws {
        let directory = try TemporaryDirectory()
        let (impostor, port, _) = try await Self.server(directory)
        defer { impostor.end() }
        var test: TestStore
        var error: StoreError?
        let end = ContinuousClock.now + .seconds(30)
        // Until the impostor listens; attempts after a refused connection say nothing about the certificate.
        repeat {
            try await Task.sleep(for: .milliseconds(50))
            test = try TestStore(endpoint: "https://localhost:\(port)")
            error = await #expect(throws: StoreError(.unavailable, key: "a")) {
                try await test.store.put("a", .bytes([1]))
            }
        } while error?.detail.contains("refused") == true
            || (!test.delays.isEmpty && ContinuousClock.now < end)
        let sentence = try #require(error?.detail)
        #expect(sentence.contains("certificate is not trusted") && !sentence.contains("CERTIFICATE"), "\(sentence)")
        #expect(error?.remedy == .mendConnection)
        #expect(test.delays.isEmpty)
    }
}
