import Crypto
import Foundation
import Programs
import Remote
import Testing

@testable import Sealing

/// The page "The container format" has a test vector for each derivation and each form of an encrypted container: what
/// is written here is what stands there, so that others can write a reader of their own.
@Suite struct FormatVectorTests {
    private let vectors: FormatVectors
    private let container: UUID
    private let keys: SealingKeys
    private let salt: [UInt8]

    init() throws {
        vectors = try FormatVectors()
        container = try vectors.uuid("container")
        keys = SealingKeys(
            container: container, epoch: 1,
            epochKeys: [1: SymmetricKey(data: try vectors.data("key of epoch 1"))],
            containerKey: SymmetricKey(data: try vectors.data("container key")))
        salt = try vectors.bytes("salt")
    }

    private func sealed(_ bytes: [UInt8], at key: String, after start: [UInt8] = []) throws -> [UInt8] {
        guard
            case .bytes(let sealed) = try Body.bytes(bytes).sealed(after: start, key: key, salt: salt, keys: keys)
        else { throw CocoaError(.fileReadUnknown) }
        return sealed
    }

    private func digest(_ bytes: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: bytes)) }

    /// What a type that is stored as JSON is read from.
    private func read<Value: Decodable>(_ type: Value.Type, _ object: [String: Any]) throws -> Value {
        try JSONDecoder().decode(type, from: try JSONSerialization.data(withJSONObject: object))
    }

    private func base64(_ name: String) throws -> String { try vectors.data(name).base64EncodedString() }

    @Test func `names of manifests are hidden as the page says`() throws {
        #expect(try keys.namingKey.bytes == vectors.bytes("naming key"))
        let (key, stored) = (try vectors.text("a manifest"), try vectors.text("its key in the store"))
        #expect(keys.storedKey(of: key) == stored)
        #expect(keys.shownKey(of: stored) == key)
    }

    @Test func `an object is sealed as the page says`() throws {
        let key = try vectors.text("an object's key")
        let text = Array(try vectors.text("its bytes, in ASCII").utf8)
        let header = try SealedHeader(key: key, byteCount: Int64(text.count), salt: salt, keys: keys)
        #expect(try header.cipher.key.bytes == vectors.bytes("object key"))
        #expect(try Array(header.bytes[44..<76]) == vectors.bytes("commitment"))
        #expect(try header.bytes == vectors.bytes("header"))
        let sealed = try sealed(text, at: key)
        #expect(try sealed == vectors.bytes("header") + vectors.bytes("segment 0"))
        #expect(try keys.open(sealed, key: key) == text)
        let long = try self.sealed(Array(repeating: UInt8(ascii: "a"), count: 65_537), at: key)
        #expect(try digest(long) == vectors.bytes("SHA-256, of 65,537 a"))
    }

    @Test func `lengths are padded as the page says`() throws {
        for (name, key) in [("padded lengths", "packs/a"), ("of commits", "log/a")] {
            let lengths = try vectors.lengths(name)
            #expect(lengths.count >= 4)
            for (byteCount, padded) in lengths {
                #expect(Padding.of(key: key).paddedByteCount(byteCount) == padded, "\(name), \(byteCount)")
            }
        }
    }

    private func maker() throws -> DeviceKeys {
        try #require(DeviceKeys(bytes: try vectors.data("slot's private key") + vectors.data("signer's key")))
    }

    @Test func `a commit is signed as the page says`() throws {
        let (key, text) = (try vectors.text("a commit's key"), Array(try vectors.text("its bytes").utf8))
        let number = try #require(Int(try vectors.text("keyring's number")))
        let ring = KeyringChain.Pin(number: number, hash: try vectors.data("keyring's SHA-256"))
        let signer = HistorySigner(member: try vectors.uuid("signer"), keys: try maker(), ring: ring)
        let endorsement = try Endorsement(
            of: SHA256.hash(data: text), key: key, predecessor: try vectors.data("predecessor"), by: signer,
            container: container)
        let publicKey = try vectors.data("signer's public key")
        #expect(signer.keys.publicKeys.signing == publicKey)
        #expect(try Array(endorsement.bytes.suffix(64)) == vectors.bytes("signature"))
        #expect(endorsement.bytes.count == Endorsement.byteCount)
        let read = try #require(Endorsement(bytes: endorsement.bytes))
        #expect(read.isValid(of: SHA256.hash(data: text), key: key, container: container, signingKey: publicKey))
        #expect(try digest(try sealed(text, at: key, after: endorsement.bytes)) == vectors.bytes("SHA-256, sealed"))
    }

    private func secrets() throws -> RingSecrets {
        let bytes = try vectors.bytes("container key") + [0, 0, 0, 1] + vectors.bytes("key of epoch 1")
        return try #require(RingSecrets(bytes: bytes))
    }

    @Test func `a keyring is authenticated and signed as the page says`() throws {
        let secrets = try secrets()
        #expect(try secrets.authenticationKey(of: container).bytes == vectors.bytes("authentication key"))
        let text = Data(try vectors.text("keyring's text").utf8)
        let object = try read(
            KeyringObject.self,
            [
                "keyring": text.base64EncodedString(), "mac": try base64("mac"),
                "signature": try base64("maker's signature"),
            ])
        #expect(object.isAuthenticated(by: secrets, of: container))
        #expect(object.isSigned(by: try vectors.data("signer's public key")))
    }

    /// A slot of JSON as on the page.
    private func slot(_ kind: [String: Any]) throws -> [String: Any] {
        [
            "kind": kind, "publicKey": try base64("slot's publicKey"), "encapsulated": try base64("encapsulated"),
            "wrapped": try base64("slot's wrapped"),
        ]
    }

    @Test func `a slot and the secrets open as the page says`() throws {
        let device = try vectors.uuid("signer")
        let slot = try slot(["device": ["_0": device.uuidString]])
        let opened = try read(KeySlot.self, slot)
        #expect(
            try opened.ringKey(with: try maker().agreement, container: container).bytes == vectors.bytes("ring's key"))
        let ring = try read(
            Keyring.self,
            [
                "format": 2, "container": container.uuidString, "number": 1, "maker": device.uuidString, "made": 1,
                "epoch": 1, "members": [Any](), "slots": [slot], "secrets": try base64("secrets"),
            ])
        #expect(try ring.open(try maker(), of: device).bytes == secrets().bytes)
    }

    @Test func `a passphrase opens as the page says`() throws {
        let passphrase = try Passphrase(try vectors.text("passphrase"))
        let key = try PassphraseCost.floor.key(of: passphrase, salt: Data(salt))
        #expect(try key.bytes == vectors.bytes("scrypt"))
        let kind: [String: Any] = [
            "member": container.uuidString, "cost": ["rounds": 1 << 17, "blockSize": 8, "parallelism": 1],
            "salt": try base64("salt"), "wrapped": try base64("passphrase's wrapped"),
        ]
        let slot = try read(KeySlot.self, try slot(["passphrase": kind]))
        let (_, root, keys) = try #require(try slot.open(with: .passphrase(passphrase), container: container))
        #expect(try root.bytes == vectors.data("container key") + vectors.data("signer's public key"))
        #expect(try keys.bytes == maker().bytes)
    }

    @Test func `a recovery code opens as the page says`() throws {
        let code = try #require(RecoveryCode(try vectors.text("recovery code")))
        #expect(try code.bytes == vectors.bytes("recovery code's bytes"))
        #expect(try code.text.replacing("-", with: "") == vectors.text("recovery code"))
        let kind: [String: Any] = ["member": container.uuidString, "wrapped": try base64("recovery's wrapped")]
        let slot = try read(KeySlot.self, try slot(["recovery": kind]))
        let (_, root, keys) = try #require(try slot.open(with: .recovery(code), container: container))
        #expect(try root.bytes == vectors.data("container key") + vectors.data("signer's public key"))
        #expect(try keys.bytes == vectors.data("recovery's private"))
        let derived = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: code.bytes),
            info: Array("dewpoint recovery v2".utf8) + [0] + container.bytes, outputByteCount: 96)
        #expect(try Array(derived.bytes.prefix(32)) == vectors.bytes("recovery's key"))
    }

    @Test func `a share has the key and the link that the page says`() throws {
        let id = try vectors.uuid("share")
        let key = ShareKey(
            of: id, container: container, epochKey: SymmetricKey(data: try vectors.data("key of epoch 1")))
        #expect(try key.secret.key.bytes == vectors.bytes("share key"))
        let header = try SealedHeader(
            key: "shares/\(id.uuidString.lowercased())", byteCount: 1, salt: salt, keys: keys)
        #expect(try header.cipher.key.bytes == vectors.bytes("share's object key"))
        #expect(try Array(header.bytes[44..<76]) == vectors.bytes("share's commitment"))
        let link = try vectors.text("link")
        let page = String(link.prefix { $0 != "#" })
        let bytes = page.replacing(".html", with: "").replacing("sig=aa", with: "sig=bb")
        #expect(ShareLink.text(page: page, bytes: bytes, key: key, fileName: "r\u{e9}sum\u{e9}.pdf") == link)
        let read = try ShareLink(parsing: link)
        #expect(read.bytesURL == bytes && read.fileName == "r\u{e9}sum\u{e9}.pdf" && read.key.text == key.text)
    }

    private static let python = "/usr/bin/python3"
    private static let hasCryptography = FileManager.default.fileExists(
        atPath: "/usr/lib/python3/dist-packages/cryptography")

    @Test(.enabled(if: hasCryptography, "python3-cryptography is not installed; scripts/dependencies test installs it"))
    func `who has the page alone computes the same`() async throws {
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "format_vectors.py").path
        let output = try await Program.run([Self.python, "-I", script, FormatVectors.page.path])
        #expect(output == "29 of 29 vectors are as the page has them\n")
    }
}
