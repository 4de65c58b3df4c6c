package import Foundation

/// What a device keeps of a sealed container in its own state: who has that can open the container.
package struct KeyringMemory: Codable, Hashable, Sendable {
    /// With what it opens the keyring.
    enum Access: Codable, Hashable, Sendable {
        case device(UUID, keys: Data)
        /// What the keyring protected when it was opened by a passphrase or code: of a device that could not be
        /// enrolled, because the store does not let it write.
        case guest(secrets: Data)
    }

    package let container: UUID
    /// Who signed the first version.
    let founder: Data
    /// The newest version that was verified, as its object.
    let ring: Data
    /// All versions up to that one.
    private let versions: [KeyringChain.Version]
    let access: Access

    init(_ chain: KeyringChain, _ access: Access) {
        container = chain.newest.container
        founder = chain.founder
        ring = Data(chain.bytes)
        versions = chain.versions
        self.access = access
    }

    func chain() throws(KeyringError) -> KeyringChain {
        let chain = try KeyringChain(known: Array(ring), founder: founder, versions: versions)
        guard chain.newest.container == container else { throw .damaged("the keyring is of another container") }
        return chain
    }

    /// The version that is kept.
    ///
    /// - Throws: ``KeyringError`` with `damaged`.
    package func number() throws(KeyringError) -> Int { try chain().newest.number }

    /// The keys of objects, of the version that is kept.
    package func keys() throws(KeyringError) -> SealingKeys { try open(chain()).sealingKeys(of: container) }

    /// The device as a member; `nil` for a guest.
    package var device: UUID? { author(at: 0)?.device }

    /// Whether the device could not be enrolled.
    package var isGuest: Bool { if case .guest = access { true } else { false } }

    /// Who may write, as far as the version that is kept tells.
    package func authority() throws(KeyringError) -> any HistoryAuthority {
        KeyringAuthority(try chain(), author(at: 0))
    }

    /// Whether the device's changes are accepted by others, as far as it knows.
    package func mayWrite() throws(KeyringError) -> Bool { try chain().signer(author(at: 0)) != nil }

    /// - Parameter time: Nanoseconds since 1970.
    func author(at time: Int64) -> KeyringChange.Author? {
        guard case .device(let id, let keys) = access, let keys = DeviceKeys(bytes: keys) else { return nil }
        return KeyringChange.Author(device: id, keys: keys, time: time)
    }

    func open(_ chain: KeyringChain) throws(KeyringError) -> RingSecrets {
        switch access {
        case .device(let id, let keys):
            guard let keys = DeviceKeys(bytes: keys) else { throw .damaged("the keys of this device are none") }
            return try chain.open(keys, of: id)
        case .guest(let bytes):
            guard let secrets = RingSecrets(bytes: Array(bytes)), secrets.epoch == chain.newest.epoch else {
                throw .notEnrolled
            }
            return secrets
        }
    }
}
