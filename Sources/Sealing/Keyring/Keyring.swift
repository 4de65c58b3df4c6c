import Crypto
package import Foundation

/// Who may open a container, and with what: the whole of it in each version, `keyring/000001` and so on.
///
/// The store has all versions. A slot opens what they protect; signatures, which ``KeyringChain`` verifies, show who
/// changed them.
package struct Keyring: Codable, Hashable, Sendable {
    package enum Role: String, Codable, Sendable {
        /// Changes what the container holds, and the keyring.
        case writer
        case reader
        /// Somebody who knows the passphrase or the recovery code: a command writes for him on a device that is not enrolled.
        case person
    }

    /// A device that was enrolled, or what a person knows.
    package struct Member: Codable, Hashable, Sendable {
        package let id: UUID
        package let name: String
        /// X25519, 32 bytes.
        let agreementKey: Data
        /// Ed25519, 32 bytes.
        let signingKey: Data
        package let role: Role
        package let enrolledBy: UUID
        /// The first epoch whose key it does not have; `nil` for a member.
        package var revokedAt: UInt32?

        init(id: UUID, name: String, keys: DevicePublicKeys, role: Role, enrolledBy: UUID) {
            self.id = id
            self.name = name
            agreementKey = keys.agreement
            signingKey = keys.signing
            self.role = role
            self.enrolledBy = enrolledBy
        }

        /// Whether it changes what the container holds, and the keyring.
        var mayWrite: Bool { role != .reader && revokedAt == nil }
        var keys: DevicePublicKeys { DevicePublicKeys(agreement: agreementKey, signing: signingKey) }
        package var isDevice: Bool { role != .person }
    }

    /// The format that sealed containers have.
    package static let format = 2
    /// The most members, revoked ones included: 1000.
    static let memberLimit = 1000
    /// The longest name in bytes: 255.
    static let nameByteLimit = 255
    /// The most slots for passphrases, and for recovery codes.
    static let personalSlotLimit = 8

    let format: Int
    package let container: UUID
    /// From 1 on.
    package internal(set) var number: Int
    /// The SHA-256 of the previous version's object.
    var previous: Data?
    /// Who made this version.
    package internal(set) var maker: UUID
    /// Nanoseconds since 1970, by the maker's clock.
    package internal(set) var made: Int64
    /// Of what is written now.
    package internal(set) var epoch: UInt32
    package internal(set) var members: [Member]
    var slots: [KeySlot]
    /// ``RingSecrets``, under the ring's key: nonce, ciphertext, tag.
    var secrets: Data

    package func member(_ id: UUID) -> Member? { members.first { $0.id == id } }

    // MARK: Opening

    /// - Throws: ``KeyringError`` with `notEnrolled` when there is no slot for the device, `damaged` when it does not open.
    package func open(_ keys: DeviceKeys, of device: UUID) throws(KeyringError) -> RingSecrets {
        guard let slot = slots.first(where: { $0.kind == .device(device) }) else { throw .notEnrolled }
        guard let ringKey = try? slot.ringKey(with: keys.agreement, container: container) else {
            throw .damaged("the slot of this device does not open")
        }
        return try openSecrets(with: ringKey)
    }

    /// What a passphrase or a code opens.
    struct Opened {
        let secrets: RingSecrets
        /// Whose rings it vouches for.
        let root: RingRoot
        /// Whose signature its holder makes.
        let member: UUID
        let keys: DeviceKeys
    }

    /// - Throws: ``KeyringError`` with `wrongSecret`, or `parameters` when a slot's are absurd.
    func open(_ secret: PersonalSecret) throws(KeyringError) -> Opened {
        for slot in slots {
            guard let (member, root, keys) = try slot.open(with: secret, container: container) else { continue }
            guard let ringKey = try? slot.ringKey(with: keys.agreement, container: container) else {
                throw .damaged("the slot of the passphrase or code does not open")
            }
            let secrets = try openSecrets(with: ringKey)
            guard secrets.containerKey == root.containerKey else {
                throw .damaged("it is not of the container for which the passphrase or code was made")
            }
            return Opened(secrets: secrets, root: root, member: member, keys: keys)
        }
        throw .wrongSecret
    }

    /// The secrets for a person who has opened an earlier version; `nil` when his slot is gone.
    func open(_ keys: DeviceKeys, ofPerson member: UUID) throws(KeyringError) -> RingSecrets? {
        guard let slot = slots.first(where: { $0.kind.person == member }) else { return nil }
        guard let ringKey = try? slot.ringKey(with: keys.agreement, container: container) else {
            throw .damaged("the slot of the passphrase or code does not open")
        }
        return try openSecrets(with: ringKey)
    }

    private func openSecrets(with ringKey: SymmetricKey) throws(KeyringError) -> RingSecrets {
        guard let box = try? AES.GCM.SealedBox(combined: secrets),
            let bytes = try? AES.GCM.open(box, using: ringKey, authenticating: Self.aad(container)),
            let opened = RingSecrets(bytes: Array(bytes)), opened.epoch == epoch
        else { throw .damaged("its keys do not open") }
        return opened
    }

    // MARK: Closing

    /// Protects the secrets anew, for all slots.
    mutating func close(_ secrets: RingSecrets) throws(KeyringError) {
        do {
            let ringKey = SymmetricKey(size: .bits256)
            let box = try AES.GCM.seal(secrets.bytes, using: ringKey, authenticating: Self.aad(container))
            self.secrets = box.nonce + box.ciphertext + box.tag
            slots = try slots.map { try $0.holding(ringKey, container: container) }
            epoch = secrets.epoch
        } catch {
            throw .damaged("a slot's public key is none: \(error)")
        }
    }

    private static func aad(_ container: UUID) -> Data {
        Data(Array("dewpoint ring v2".utf8) + [0] + container.bytes)
    }
}
