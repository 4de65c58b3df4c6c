import Foundation
import Model
import Remote
import Sealing
import Testing

@testable import Daemon

/// An encrypted container whose description, in plain text or sealed, is not as it was: the sentence names the object and
/// says what to do.
@Suite struct DamagedDescriptionTests {
    private let directory = FileManager.default.temporaryDirectory.appending(path: "damaged-\(UUID().uuidString)")
        .path()
    private var url: String { "file://\(directory)remote" }
    private var stub: String { directory + "remote/container.json" }
    private let code = RecoveryCode()

    init() throws {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    }

    private func create(encrypted isEncrypted: Bool) async throws {
        let identity = ContainerIdentity(
            id: try #require(ContainerIdentifier("iCloud.com.example.Notes")), uuid: UUID(),
            created: Timestamp(rawValue: 0),
            settings: .init(name: "Notes", documentScopePublic: true, folderLevels: .any))
        let location = try ContainerLocation(url: url)
        guard isEncrypted else { return try await RemoteContainer.create(at: location, identity: identity) }
        _ = try await RemoteContainer.createEncrypted(
            at: location, identity: identity, passphrase: try Passphrase("correct horse"), recovery: code,
            deviceName: "anna")
    }

    /// The sentence with which a new device refuses the container; `nil` when it opens it.
    private func refusal() async throws -> DaemonError? {
        let unlocking = Unlocking { [code] _ in .recovery(code) }
        do throws(DaemonError) {
            _ = try await RemoteContainer.open(try ContainerLocation(url: url), unlocking: unlocking)
            return nil
        } catch {
            return error
        }
    }

    private func remove() { try? FileManager.default.removeItem(atPath: directory) }

    private static let remedy = #"""
        ; there is a keyring, so the container was encrypted, and this object was cut, changed or exchanged: put it back as \#
        {"format":2,"uuid":"UUID"}, where UUID is the name of the directory in keyring/ that has 000001
        """#

    @Test(arguments: [
        (#"{"format":1,"uuid":"C61E7C8E-6008-4C05-9D83-C2708F13E113"}"#, "id is missing"),
        (#"{"format":2,"uuid":"C61E7C"#, "not JSON, or not a value of its type"),
        ("", "not JSON, or not a value of its type"),
        (#"{"uuid":"C61E7C8E-6008-4C05-9D83-C2708F13E113"}"#, "format is missing"),
        (#"{"format":2}"#, "uuid is missing, or is none"), (#"{"format":2,"uuid":"a"}"#, "uuid is missing, or is none"),
    ])
    func `a container.json that was cut or changed is refused by its name, with what to put there`(
        text: String, fault: String
    ) async throws {
        defer { remove() }
        try await create(encrypted: true)
        #expect(try await refusal() == nil)
        try text.write(toFile: stub, atomically: true, encoding: .utf8)
        let expected = "the container at \(url) is damaged: container.json: \(fault)"
        #expect(try await refusal() == DaemonError(.failed, expected + Self.remedy))
        // Without a keyring, nothing tells that there was an encrypted one.
        try FileManager.default.removeItem(atPath: directory + "remote/keyring")
        #expect(try await refusal() == DaemonError(.failed, expected))
    }

    @Test func `a newer format is refused as that, whether the container is encrypted or not`() async throws {
        defer { remove() }
        try await create(encrypted: true)
        try #"{"format":3}"#.write(toFile: stub, atomically: true, encoding: .utf8)
        let expected = "it has format 3, and this version of Dewpoint reads formats up to 2: update Dewpoint"
        #expect(try await refusal() == DaemonError(.usage, "\(url) cannot be used: \(expected)"))
    }

    /// A header has 108 bytes, of which the salt begins at the 12th.
    @Test(arguments: [
        ("flipped 20", "changed since it was sealed, or not sealed for this place"),
        ("flipped 110", "changed since it was sealed, or not sealed for this place"),
        ("cut 50", "not a sealed object"), ("cut 200", "changed since it was sealed, or not sealed for this place"),
        ("removed 0", "it is missing"),
    ])
    func `the sealed description is named as what it is`(change: String, fault: String) async throws {
        defer { remove() }
        try await create(encrypted: true)
        let rings = directory + "remote/keyring"
        let uuid = try #require(try FileManager.default.contentsOfDirectory(atPath: rings).first)
        let file = "\(rings)/\(uuid)/container"
        var bytes = try Data(contentsOf: URL(filePath: file))
        let words = change.split(separator: " ")
        let place = try #require(Int(words[1]))
        switch words[0] {
        case "flipped": bytes[place] ^= 1
        case "cut": bytes = bytes.prefix(place)
        default: break
        }
        try FileManager.default.removeItem(atPath: file)
        if words[0] != "removed" { try bytes.write(to: URL(filePath: file)) }
        #expect(
            try await refusal()
                == DaemonError(.failed, "the container at \(url) is damaged: keyring/\(uuid)/container: \(fault)"))
    }

    @Test func `a plain container whose container.json lacks a member says which`() async throws {
        defer { remove() }
        try await create(encrypted: false)
        try #"{"format":1,"id":"iCloud.a"}"#.write(toFile: stub, atomically: true, encoding: .utf8)
        #expect(
            try await refusal()
                == DaemonError(.failed, "the container at \(url) is damaged: container.json: uuid is missing"))
    }
}
