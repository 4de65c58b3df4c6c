package import Foundation

/// A new version of a keyring: each is one create-only object, so that a crash leaves the old one or the new one.
package struct KeyringChange: Sendable {
    /// Who makes it.
    package struct Author: Sendable {
        let device: UUID
        let keys: DeviceKeys
        /// Nanoseconds since 1970.
        let time: Int64

        package init(device: UUID, keys: DeviceKeys, time: Int64) {
            self.device = device
            self.keys = keys
            self.time = time
        }
    }

    /// A container with one member, a passphrase and a recovery code.
    ///
    /// - Parameters:
    ///   - name: At most 255 bytes.
    /// - Returns: The object `keyring/000001`, and what it protects.
    package static func found(
        container: UUID, author: Author, name: String, passphrase: Passphrase, recovery: RecoveryCode
    ) throws(KeyringError) -> (KeyringObject, RingSecrets) {
        try check(name)
        let secrets = RingSecrets()
        let founder = Keyring.Member(
            id: author.device, name: name, keys: author.keys.publicKeys, role: .writer, enrolledBy: author.device)
        let root = RingRoot(containerKey: secrets.containerKey, founder: founder.signingKey)
        var ring = Keyring(
            format: Keyring.format, container: container, number: 1, previous: nil, maker: author.device,
            made: author.time, epoch: 1, members: [founder], slots: [], secrets: Data())
        ring.slots += try slots { [try .device(author.device, founder.agreementKey)] }
        for secret in [PersonalSecret.passphrase(passphrase), .recovery(recovery)] {
            try ring.add(secret, root: root, by: author.device)
        }
        try ring.close(secrets)
        return (try KeyringObject(ring, secrets: secrets, signer: author.keys), secrets)
    }

    private let chain: KeyringChain
    private let author: Author
    private var ring: Keyring
    package private(set) var secrets: RingSecrets

    /// - Throws: ``KeyringError`` with `refused` when this device may not change the keyring.
    package init(of chain: KeyringChain, secrets: RingSecrets, author: Author) throws(KeyringError) {
        let member = chain.newest.member(author.device)
        if let member, member.role == .person, member.revokedAt != nil {
            throw .refused("the passphrase or recovery code was replaced meanwhile; repeat this with the new one")
        }
        guard let member, member.mayWrite else {
            throw .refused("only a device that may write can change the keyring: do it on one of those")
        }
        self.chain = chain
        self.author = author
        self.secrets = secrets
        ring = chain.newest
        ring.number += 1
        ring.previous = chain.pin.hash
        ring.maker = author.device
        ring.made = author.time
    }

    private var root: RingRoot { RingRoot(containerKey: secrets.containerKey, founder: chain.founder) }

    /// Replaces the passphrase, or the recovery code. Who knows the former one and has an old version of the keyring can
    /// neither change it nor read what is written from then on.
    package mutating func replace(with secret: PersonalSecret) throws(KeyringError) {
        rotate()
        let former = ring.slots.compactMap { slot -> UUID? in
            switch (slot.kind, secret) {
            case (.passphrase(let member, _, _, _), .passphrase), (.recovery(let member, _), .recovery): member
            default: nil
            }
        }
        ring.slots.removeAll { slot in slot.kind.person.map { former.contains($0) } == true }
        for index in ring.members.indices where former.contains(ring.members[index].id) {
            ring.members[index].revokedAt = secrets.epoch
        }
        try ring.add(secret, root: root, by: author.device)
    }

    /// Adds a device, whose keys are known here.
    ///
    /// - Throws: ``KeyringError`` with `refused` when it is a member, was revoked, or there are too many.
    package mutating func enrol(
        _ device: UUID, name: String, keys: DevicePublicKeys, role: Keyring.Role
    ) throws(KeyringError) {
        guard ring.member(device) == nil else {
            throw .refused("the device \(name) is enrolled, or was revoked: a revoked one comes back with a new state")
        }
        guard ring.members.count < Keyring.memberLimit else {
            throw .refused("a keyring has at most \(Keyring.memberLimit) devices, revoked ones included")
        }
        try Self.check(name)
        let member = Keyring.Member(id: device, name: name, keys: keys, role: role, enrolledBy: author.device)
        ring.members.append(member)
        ring.slots += try Self.slots { [try .device(device, member.agreementKey)] }
    }

    /// Takes a device's slot away and begins an epoch: what is written from then on it cannot read.
    ///
    /// - Throws: ``KeyringError`` with `refused` when it is no member, or the last one that may write.
    package mutating func revoke(_ device: UUID) throws(KeyringError) {
        guard ring.members.contains(where: { $0.id != device && $0.role == .writer && $0.revokedAt == nil }) else {
            throw .refused("it is the last device that may write: enrol another one before")
        }
        try take(device)
    }

    /// Takes the slot of a founder away whose keys nobody keeps: the passphrase and the code are left, with which devices are
    /// enrolled.
    mutating func retireFounder() throws(KeyringError) {
        guard let founder = ring.members.first(where: { $0.signingKey == chain.founder }) else {
            throw .damaged("the founder is no member")
        }
        try take(founder.id)
    }

    private mutating func take(_ device: UUID) throws(KeyringError) {
        guard
            let index = ring.members.firstIndex(where: {
                $0.id == device && $0.isDevice && $0.revokedAt == nil
            })
        else {
            throw .refused("no such device is enrolled: see 'dewpoint key list'")
        }
        rotate()
        ring.members[index].revokedAt = secrets.epoch
        ring.slots.removeAll { $0.kind == .device(device) }
    }

    /// Begins an epoch, unless this version does already.
    package mutating func rotate() { if secrets.epoch == chain.newest.epoch { secrets.beginEpoch() } }

    /// The version with all changes.
    package func object() throws(KeyringError) -> KeyringObject {
        var ring = ring
        try ring.close(secrets)
        return try KeyringObject(ring, secrets: secrets, signer: author.keys)
    }

    static func check(_ name: String) throws(KeyringError) {
        guard name.utf8.count <= Keyring.nameByteLimit else {
            throw .refused("the name of a device has at most \(Keyring.nameByteLimit) bytes: choose a shorter one")
        }
    }

    fileprivate static func slots<Value>(_ make: () throws -> Value) throws(KeyringError) -> Value {
        do { return try make() } catch { throw error as? KeyringError ?? .refused("\(error)") }
    }
}

extension Keyring {
    /// Adds what a person knows.
    fileprivate mutating func add(_ secret: PersonalSecret, root: RingRoot, by author: UUID) throws(KeyringError) {
        guard members.count < Keyring.memberLimit else {
            throw .refused("a keyring has at most \(Keyring.memberLimit) members, revoked ones included")
        }
        let id = UUID()
        let (slot, keys) = try KeyringChange.slots {
            try KeySlot.personal(secret, member: id, root: root, container: container)
        }
        slots.append(slot)
        members.append(Member(id: id, name: secret.name, keys: keys.publicKeys, role: .person, enrolledBy: author))
    }
}

extension PersonalSecret {
    fileprivate var name: String {
        switch self {
        case .passphrase: "passphrase"
        case .recovery: "recovery code"
        }
    }
}
