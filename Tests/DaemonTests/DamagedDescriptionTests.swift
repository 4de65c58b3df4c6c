import Foundation
import Model
import Remote
import Sealing
import Testing

@testable import Daemon

/// An encrypted container whose description, in plain text or sealed, is not as it was: the sentence names the object and
/// says what to do.
@Suite struct DamagedDescriptionTests {
    private let directory =
        FileManager.default.temporaryDirectory.appending(path: "damaged-\(UUID().uuidString)")
        .path() + "/"
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

    // MARK: A container.json that is missing, or that of a plain container

    private static let putBack = #"""
        put it back from a backup, or put it back as {"format":2,"uuid":"UUID"}, where UUID is the name of the \#
        directory in keyring/ that has 000001
        """#

    private func incomplete(_ what: String) -> DaemonError {
        DaemonError(.notFound, "the container at \(url) is incomplete: there are objects of \(what)")
    }

    private func uncreated(_ what: String) -> DaemonError {
        DaemonError(
            .cannotCreate,
            "nothing was created or changed at \(url): there are objects of \(what), or choose an empty place")
    }

    /// As a device leaves it: its first pack, its first commit.
    private func use() throws {
        for key in ["log/00000000000000000001", "packs/6b1c6f0e-9a3b-4a55-8d5e-0d7b2f3f7a11"] {
            let file = URL(filePath: directory + "remote/" + key)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data([1]).write(to: file)
        }
    }

    /// All files of the store and their bytes.
    private func objects() throws -> [String: Data] {
        let root = directory + "remote/"
        let names = try FileManager.default.subpathsOfDirectory(atPath: root).filter { !$0.hasPrefix(".tmp") }
        let files = names.compactMap { name in FileManager.default.contents(atPath: root + name).map { (name, $0) } }
        return Dictionary(uniqueKeysWithValues: files)
    }

    @Test(arguments: [false, true])
    func `beside the objects of an encrypted container without its container.json, none is created`(
        isEncrypted: Bool
    ) async throws {
        defer { remove() }
        try await create(encrypted: true)
        try use()
        let text = try Data(contentsOf: URL(filePath: stub))
        try FileManager.default.removeItem(atPath: stub)
        let before = try objects()
        let what = "an encrypted container in keyring/, log/, packs/, but container.json is missing: " + Self.putBack
        #expect(try await refusal() == incomplete(what))
        await #expect(throws: uncreated(what)) { try await create(encrypted: isEncrypted) }
        #expect(try objects() == before)
        try text.write(to: URL(filePath: stub))
        #expect(try await refusal() == nil)
    }

    @Test(arguments: [false, true])
    func `beside the objects of a plain container without its container.json, none is created`(
        isEncrypted: Bool
    ) async throws {
        defer { remove() }
        try await create(encrypted: false)
        try use()
        try FileManager.default.removeItem(atPath: stub)
        let before = try objects()
        let what = "a container in log/, packs/, but container.json is missing: put it back from a backup"
        #expect(try await refusal() == incomplete(what))
        await #expect(throws: uncreated(what)) { try await create(encrypted: isEncrypted) }
        #expect(try objects() == before)
    }

    /// The second version of the keyring may be the one that revokes the founder of a copy; a third is made only in a
    /// container that was finished.
    @Test func `what an interrupted creation has left is in the way of a plain container only`() async throws {
        defer { remove() }
        try await create(encrypted: true)
        try FileManager.default.removeItem(atPath: stub)
        let what =
            "an encrypted container in keyring/, but container.json is missing: " + Self.putBack
            + ", or repeat its creation if that was interrupted"
        #expect(try await refusal() == incomplete(what))
        await #expect(throws: uncreated(what)) { try await create(encrypted: false) }
        try await create(encrypted: true)
        #expect(try await refusal() == nil)
        try FileManager.default.removeItem(atPath: stub)
        let rings = directory + "remote/keyring"
        let uuid = try #require(try FileManager.default.contentsOfDirectory(atPath: rings).first)
        try Data([1]).write(to: URL(filePath: "\(rings)/\(uuid)/000002"))
        try await create(encrypted: true)
        try FileManager.default.removeItem(atPath: stub)
        try Data([1]).write(to: URL(filePath: "\(rings)/\(uuid)/000003"))
        await #expect(
            throws: uncreated(
                "an encrypted container in keyring/, but container.json is missing: " + Self.putBack)
        ) { try await create(encrypted: true) }
    }

    @Test func `the probe of an interrupted creation and the files of others are in nobody's way`() async throws {
        defer { remove() }
        for name in ["probe", "letters"] {
            let place = directory + "remote/" + name
            try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
            try Data([1]).write(to: URL(filePath: place + "/6b1c6f0e-9a3b-4a55-8d5e-0d7b2f3f7a11"))
        }
        try await create(encrypted: false)
        #expect(try await refusal() == nil)
    }

    @Test func `a container that is there is said to be there, whatever else is`() async throws {
        defer { remove() }
        try await create(encrypted: true)
        try use()
        let expected = "there is already a container at \(url); mount it, or choose an empty place"
        for isEncrypted in [false, true] {
            await #expect(throws: DaemonError(.cannotCreate, expected)) { try await create(encrypted: isEncrypted) }
        }
    }

    @Test func `a plain container beside a keyring is refused by a new device`() async throws {
        defer { remove() }
        try await create(encrypted: false)
        let plain = try Data(contentsOf: URL(filePath: stub))
        try FileManager.default.removeItem(atPath: stub)
        try await create(encrypted: true)
        try plain.write(to: URL(filePath: stub))
        let fault = "container.json: it is that of a plain container, iCloud.com.example.Notes"
        let rest =
            "; if it was always plain, an interrupted creation has left the keyring: move keyring/ to another place"
        #expect(
            try await refusal()
                == DaemonError(.failed, "the container at \(url) is damaged: \(fault)\(Self.remedy)\(rest)"))
        try FileManager.default.removeItem(atPath: directory + "remote/keyring")
        #expect(try await refusal() == nil)
    }

    // MARK: The sealed description

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
