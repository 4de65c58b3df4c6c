import Foundation
import Programs
import Remote
import S3Server
import Testing

@testable import RemoteS3

@Suite(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/openssl"), "openssl is not installed"))
struct TLSTests {
    private static let openssl = "/usr/bin/openssl"

    @Test(.timeLimit(.minutes(5)))
    func `an untrusted certificate is refused at once, and the error says so`() async throws {
        let directory = try TemporaryDirectory()
        let (key, certificate) = (directory.file("key"), directory.file("certificate"))
        try await Program.run([
            Self.openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-days",
            "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key,
            "-out", certificate,
        ])
        // A port that was free a moment ago.
        let port = try ScriptedServer { _ in .reset }.port
        let impostor = try Program([
            Self.openssl, "s_server", "-accept", "\(port)", "-key", key, "-cert", certificate, "-www", "-quiet",
        ])
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
