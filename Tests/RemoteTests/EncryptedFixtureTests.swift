import Foundation
import Model
import Programs
import RemoteS3
import Sealing
import TestStores
import Testing

@testable import Remote

/// `Fixtures/encrypted` is a copy of `Fixtures/container` that was encrypted, with a second version of the keyring, and
/// `Fixtures/encrypted.txt` has its passphrase and its recovery code. It does not change as long as this format is read.
@Suite(.timeLimit(.minutes(3))) struct EncryptedFixtureTests {
    private static func fixtures() throws -> URL {
        try #require(Bundle.module.url(forResource: "Fixtures", withExtension: nil))
    }

    /// All files below a fixture, by key.
    private static func objects(_ name: String) throws -> [(key: String, bytes: [UInt8])] {
        let root = try fixtures().appending(path: name)
        let paths = try FileManager.default.subpathsOfDirectory(atPath: root.path).sorted()
        return try paths.compactMap { path in
            let file = root.appending(path: path)
            let isFile = try file.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true
            return isFile ? (path, Array(try Data(contentsOf: file))) : nil
        }
    }

    private static func secrets() throws -> [String] {
        try String(contentsOf: fixtures().appending(path: "encrypted.txt"), encoding: .utf8)
            .split(separator: "\n").map(String.init)
    }

    @Test(arguments: [0, 1]) func `passphrase and recovery code open what the plain container holds`(
        line: Int
    ) async throws {
        let base = MemoryStore()
        for (key, bytes) in try Self.objects("encrypted") { try await base.put(key, .bytes(bytes)) }
        let text = try Self.secrets()[line]
        let secret = try RecoveryCode(text).map { PersonalSecret.recovery($0) } ?? .passphrase(Passphrase(text))
        let container = try await #require(try await SealedContainer.find(in: base)).unlock(secret)
        #expect(container.newest.number == 2 && container.newest.epoch == 2)
        var keys: [String] = []
        for (key, bytes) in try Self.objects("container") {
            keys.append(key)
            let opened = try await container.store.get(key, range: nil).collect(upTo: 1 << 20)
            if key == "container.json" {
                #expect(
                    try await Container.open(in: container.store).identity.id.description == "iCloud.com.example.Notes")
            } else {
                #expect(opened == bytes, "\(key)")
            }
        }
        let listed = try await container.store.list(prefix: "", after: nil, limit: 100).map(\.key)
        #expect(listed.filter { !$0.hasPrefix("keyring/") }.sorted() == keys.sorted())
    }

    private static let python = "/usr/bin/python3"
    private static let hasCryptography = FileManager.default.fileExists(
        atPath: "/usr/lib/python3/dist-packages/cryptography")

    @Test(.enabled(if: hasCryptography, "python3-cryptography is not installed; scripts/dependencies test installs it"))
    func `restore.py restores the same tree`() async throws {
        let directory = try TemporaryDirectory()
        let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let script = sources.appending(path: "scripts/restore.py").path
        let plain = directory.file("plain")
        try await Program.run([Self.python, script, try Self.fixtures().appending(path: "container").path, plain])
        for (index, text) in try Self.secrets().enumerated() {
            let (file, output) = (directory.file("secret-\(index)"), directory.file("out-\(index)"))
            try text.write(toFile: file, atomically: true, encoding: .utf8)
            try await Program.run(
                [
                    Self.python, script, try Self.fixtures().appending(path: "encrypted").path, output,
                    "--passphrase-file", file,
                ])
            try await Program.run(["diff", "-r", plain, output])
        }
    }

    @Test(.enabled(if: hasCryptography, "python3-cryptography is not installed; scripts/dependencies test installs it"))
    func `restore.py refuses a passphrase that is not UTF-8, as Dewpoint does`() async throws {
        let directory = try TemporaryDirectory()
        let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let file = directory.file("bytes")
        try Data([0xff, 0xfe, 0x0a]).write(to: URL(filePath: file))
        let result = try await Program.result(of: [
            Self.python, sources.appending(path: "scripts/restore.py").path,
            try Self.fixtures().appending(path: "encrypted").path, directory.file("out"), "--passphrase-file", file,
        ])
        #expect(result.status == 1)
        #expect(result.errors == "the passphrase is not UTF-8, as it must be\n")
    }

    @Test(
        .enabled(if: hasCryptography, "python3-cryptography is not installed; scripts/dependencies test installs it"),
        arguments: [("", 0), ("\n", 0), ("\r\n", 0), ("\r", 0), ("\r\r\n", 1), ("\r\r", 1)])
    func `restore.py takes one end of a line from a passphrase, as Dewpoint does`(
        end: String, status: Int32
    ) async throws {
        let directory = try TemporaryDirectory()
        let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let file = directory.file("secret")
        try Data((try Self.secrets()[0] + end).utf8).write(to: URL(filePath: file))
        let result = try await Program.result(of: [
            Self.python, sources.appending(path: "scripts/restore.py").path,
            try Self.fixtures().appending(path: "encrypted").path, "--verify-only", "--passphrase-file", file,
        ])
        #expect(result.status == status, "\(result.errors)")
        #expect(result.errors.hasPrefix("the passphrase or recovery code is wrong") == (status == 1))
    }
}
