package import Foundation

/// The versions of a keyring, each made by a member of the one before: what can be believed of what a store has.
package struct KeyringChain: Sendable {
    /// What a device remembers between two looks: a version, and the SHA-256 of its object.
    package struct Pin: Codable, Hashable, Sendable {
        package let number: Int
        package let hash: Data

        package init(number: Int, hash: Data) {
            self.number = number
            self.hash = hash
        }
    }

    /// What is to be known of an old version: who might write under it.
    struct Version: Codable, Hashable, Sendable {
        let hash: Data
        let epoch: UInt32
        /// Members are only added, at the end.
        let memberCount: Int
    }

    package private(set) var newest: Keyring
    private var object: KeyringObject
    /// The newest version as the store has it: its hash is of these bytes.
    private(set) var bytes: [UInt8]
    /// Of the newest.
    package private(set) var pin: Pin
    /// From version 1 on.
    private(set) var versions: [Version]
    /// The Ed25519 key that signed the first version.
    let founder: Data

    /// Starts with the first version: whether it can be believed, only its founder's key can tell.
    ///
    /// - Throws: ``KeyringError`` with `damaged`.
    package init(first bytes: [UInt8]) throws(KeyringError) {
        object = try KeyringObject(bytes: bytes)
        self.bytes = bytes
        newest = try object.unverified()
        guard newest.number == 1, newest.previous == nil, newest.epoch == 1,
            let founder = newest.member(newest.maker), founder.mayWrite, object.isSigned(by: founder.signingKey)
        else { throw .damaged("keyring 1 is not signed by its founder") }
        self.founder = founder.signingKey
        pin = Pin(number: 1, hash: KeyringObject.hash(bytes))
        versions = [Version(newest, pin)]
    }

    /// Goes on from a version that was verified before.
    ///
    /// - Throws: ``KeyringError`` with `damaged`.
    init(known bytes: [UInt8], founder: Data, versions: [Version]) throws(KeyringError) {
        object = try KeyringObject(bytes: bytes)
        self.bytes = bytes
        newest = try object.unverified()
        self.founder = founder
        pin = Pin(number: newest.number, hash: KeyringObject.hash(bytes))
        self.versions = versions
        guard versions.count == newest.number, versions.last?.hash == pin.hash else {
            throw .damaged("what is kept of the former keyrings is incomplete")
        }
    }

    /// Goes on with the next version.
    ///
    /// - Throws: ``KeyringError`` with `damaged`, or with `notDescended` when no member made it from the one before.
    package mutating func append(_ bytes: [UInt8]) throws(KeyringError) {
        let object = try KeyringObject(bytes: bytes)
        let ring = try object.unverified()
        let number = newest.number + 1
        guard ring.number == number, ring.container == newest.container, ring.previous == pin.hash else {
            throw .notDescended("keyring \(number) does not follow from keyring \(newest.number)")
        }
        guard let maker = newest.member(ring.maker), maker.mayWrite, object.isSigned(by: maker.signingKey)
        else {
            throw .notDescended("keyring \(number) is not signed by a device that may change it")
        }
        try checkSuccession(ring)
        (newest, self.object, self.bytes) = (ring, object, bytes)
        pin = Pin(number: number, hash: KeyringObject.hash(bytes))
        versions.append(Version(ring, pin))
    }

    /// Members are never forgotten, nor their keys changed: old commits are verified with them. Epochs only begin.
    private func checkSuccession(_ ring: Keyring) throws(KeyringError) {
        guard (newest.epoch...newest.epoch + 1).contains(ring.epoch) else {
            throw .notDescended("keyring \(ring.number) goes back to epoch \(ring.epoch)")
        }
        for old in newest.members {
            guard var new = ring.member(old.id) else {
                throw .notDescended("keyring \(ring.number) lacks the device \(old.name)")
            }
            // A revoked device does not get the key of the epoch that begins.
            if old.revokedAt == nil, new.revokedAt == newest.epoch + 1, new.revokedAt == ring.epoch {
                new.revokedAt = nil
            }
            guard new == old else {
                throw .notDescended("keyring \(ring.number) changes what is known of the device \(old.name)")
            }
        }
        guard ring.members.map(\.id).starts(with: newest.members.map(\.id)) else {
            throw .notDescended("keyring \(ring.number) has its members in another order")
        }
        for new in ring.members where newest.member(new.id) == nil {
            guard new.enrolledBy == ring.maker, new.revokedAt == nil else {
                throw .notDescended("keyring \(ring.number) does not say truly who enrolled the device \(new.name)")
            }
        }
    }

    // MARK: Opening

    /// - Throws: ``KeyringError`` with `notEnrolled` or `damaged`.
    package func open(_ keys: DeviceKeys, of device: UUID) throws(KeyringError) -> RingSecrets {
        try authenticated(newest.open(keys, of: device))
    }

    /// - Returns: Also who has opened it, as the author of changes.
    /// - Throws: ``KeyringError`` with `wrongSecret`, or `damaged` when the store shows another container's rings.
    package func open(
        _ secret: PersonalSecret
    ) throws(KeyringError) -> (secrets: RingSecrets, member: UUID, keys: DeviceKeys) {
        let opened = try newest.open(secret)
        try check(opened.root, opened.secrets)
        return (try authenticated(opened.secrets), opened.member, opened.keys)
    }

    /// Checks that these are the rings of whoever vouches for them.
    func check(_ root: RingRoot, _ secrets: RingSecrets) throws(KeyringError) {
        guard root.founder == founder, root.containerKey == secrets.containerKey else {
            throw .damaged("keyring 1 is not the one for which the passphrase or code was made")
        }
    }

    private func authenticated(_ secrets: RingSecrets) throws(KeyringError) -> RingSecrets {
        guard object.isAuthenticated(by: secrets, of: newest.container) else {
            throw .damaged("keyring \(newest.number) was made without the container's key")
        }
        return secrets
    }
}

extension KeyringChain.Version {
    init(_ ring: Keyring, _ pin: KeyringChain.Pin) {
        self.init(hash: pin.hash, epoch: ring.epoch, memberCount: ring.members.count)
    }
}
