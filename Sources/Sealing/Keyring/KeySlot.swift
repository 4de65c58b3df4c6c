import Crypto
import CryptoExtras
import Foundation

/// One of the ways in which a keyring opens: the ring's key, wrapped to a public key (HPKE, RFC 9180).
///
/// Who changes a ring wraps its new key to all slots, of which it knows the public keys only. Since the store knows
/// those too and could wrap a ring of its own to them, a passphrase and a code open a ``RingRoot`` as well, which says
/// whose rings to believe.
struct KeySlot: Codable, Hashable, Sendable {
    enum Kind: Codable, Hashable, Sendable {
        /// `wrapped`: the root and the member's private keys, under the key that scrypt makes of the passphrase.
        case passphrase(member: UUID, cost: PassphraseCost, salt: Data, wrapped: Data)
        /// `wrapped`: the root, under a key derived from the code; as are the member's private keys.
        case recovery(member: UUID, wrapped: Data)
        case device(UUID)

        /// The member who opens it by what he knows; `nil` for a device's.
        var person: UUID? {
            switch self {
            case .passphrase(let member, _, _, _), .recovery(let member, _): member
            case .device: nil
            }
        }
    }

    var kind: Kind
    /// X25519, 32 bytes.
    var publicKey: Data
    /// The ring's key: the encapsulated key, and the ciphertext.
    var encapsulated: Data
    var wrapped: Data

    private static let suite = HPKE.Ciphersuite(kem: .Curve25519_HKDF_SHA256, kdf: .HKDF_SHA256, aead: .AES_GCM_256)
    private static let purpose = Array("dewpoint slot v2".utf8) + [0]

    /// A slot to which nothing is wrapped yet.
    private init(_ kind: Kind, _ publicKey: Curve25519.KeyAgreement.PublicKey) {
        self.kind = kind
        self.publicKey = publicKey.rawRepresentation
        encapsulated = Data()
        wrapped = Data()
    }

    // MARK: New slots

    static func device(_ id: UUID, _ publicKey: Data) throws -> KeySlot {
        KeySlot(.device(id), try Curve25519.KeyAgreement.PublicKey(rawRepresentation: publicKey))
    }

    /// - Returns: The slot, and the keys of its member.
    static func personal(
        _ secret: PersonalSecret, member: UUID, root: RingRoot, container: UUID
    ) throws -> (KeySlot, DeviceKeys) {
        switch secret {
        case .passphrase(let passphrase):
            let (keys, salt, cost) = (DeviceKeys(), Data(SealedStore.randomSalt()), PassphraseCost.floor)
            let box = try AES.GCM.seal(
                root.bytes + keys.bytes, using: try cost.key(of: passphrase, salt: salt),
                authenticating: aad("passphrase", container))
            let kind = Kind.passphrase(
                member: member, cost: cost, salt: salt, wrapped: box.ciphertext + box.tag + Data(box.nonce))
            return (KeySlot(kind, keys.agreement.publicKey), keys)
        case .recovery(let code):
            let (wrapping, keys) = try keys(of: code, container)
            let box = try AES.GCM.seal(root.bytes, using: wrapping, authenticating: aad("recovery", container))
            let kind = Kind.recovery(member: member, wrapped: box.ciphertext + box.tag + Data(box.nonce))
            return (KeySlot(kind, keys.agreement.publicKey), keys)
        }
    }

    // MARK: Wrapping the ring's key

    /// The slot with a ring's key.
    func holding(_ ringKey: SymmetricKey, container: UUID) throws -> KeySlot {
        var sender = try HPKE.Sender(
            recipientKey: Curve25519.KeyAgreement.PublicKey(rawRepresentation: publicKey), ciphersuite: Self.suite,
            info: Data(Self.purpose + container.bytes))
        var slot = self
        slot.wrapped = try sender.seal(ringKey.bytes)
        slot.encapsulated = sender.encapsulatedKey
        return slot
    }

    /// - Throws: When it was not wrapped to that key.
    func ringKey(with key: Curve25519.KeyAgreement.PrivateKey, container: UUID) throws -> SymmetricKey {
        var recipient = try HPKE.Recipient(
            privateKey: key, ciphersuite: Self.suite, info: Data(Self.purpose + container.bytes),
            encapsulatedKey: encapsulated)
        return SymmetricKey(data: try recipient.open(wrapped))
    }

    // MARK: Opening by what a person knows

    /// - Returns: The member and its keys; `nil` when the slot is of another kind, or of another passphrase or code.
    /// - Throws: ``KeyringError`` with `parameters`, before any work is done.
    func open(
        with secret: PersonalSecret, container: UUID
    ) throws(KeyringError) -> (member: UUID, RingRoot, DeviceKeys)? {
        switch (kind, secret) {
        case (.passphrase(let member, let cost, let salt, let wrapped), .passphrase(let passphrase)):
            try cost.check()
            guard let key = try? cost.key(of: passphrase, salt: salt),
                let bytes = try? Self.open(wrapped, using: key, "passphrase", container),
                let root = RingRoot(bytes: bytes.prefix(RingRoot.byteCount)),
                let keys = DeviceKeys(bytes: bytes.dropFirst(RingRoot.byteCount))
            else { return nil }
            return (member, root, keys)
        case (.recovery(let member, let wrapped), .recovery(let code)):
            guard let (wrapping, keys) = try? Self.keys(of: code, container),
                let bytes = try? Self.open(wrapped, using: wrapping, "recovery", container),
                let root = RingRoot(bytes: bytes)
            else { return nil }
            return (member, root, keys)
        case (.device, _), (.passphrase, .recovery), (.recovery, .passphrase): return nil
        }
    }

    private static func open(
        _ wrapped: Data, using key: SymmetricKey, _ kind: String, _ container: UUID
    ) throws -> Data {
        guard wrapped.count > 28 else { throw KeyringError.wrongSecret }
        let (rest, nonce) = (wrapped.dropLast(12), wrapped.suffix(12))
        let box = try AES.GCM.SealedBox(
            nonce: AES.GCM.Nonce(data: nonce), ciphertext: rest.dropLast(16), tag: rest.suffix(16))
        return try AES.GCM.open(box, using: key, authenticating: aad(kind, container))
    }

    private static func keys(
        of code: RecoveryCode, _ container: UUID
    ) throws -> (wrapping: SymmetricKey, own: DeviceKeys) {
        let derived = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: code.bytes), info: aad("recovery", container), outputByteCount: 96
        ).bytes
        guard let own = DeviceKeys(bytes: Data(derived[32...])) else { throw KeyringError.wrongSecret }
        return (SymmetricKey(data: derived[..<32]), own)
    }

    private static func aad(_ kind: String, _ container: UUID) -> Data {
        Data(Array("dewpoint \(kind) v2".utf8) + [0] + container.bytes)
    }
}

/// What a passphrase or a code vouches for: the container key, and the key with which the first ring is signed.
struct RingRoot: Sendable {
    static let byteCount = 64

    let containerKey: SymmetricKey
    let founder: Data

    init(containerKey: SymmetricKey, founder: Data) {
        self.containerKey = containerKey
        self.founder = founder
    }

    init?(bytes: Data) {
        guard bytes.count == Self.byteCount else { return nil }
        containerKey = SymmetricKey(data: bytes.prefix(32))
        founder = Data(bytes.suffix(32))
    }

    var bytes: Data { Data(containerKey.bytes) + founder }
}
