package import Foundation
import Remote

/// A sealed container that is open: to read it, and to change its keyring.
package struct UnlockedContainer: Sendable {
    /// Who has opened it.
    enum Opener {
        case person(UUID, DeviceKeys)
        case device(KeyringMemory)
    }

    let base: any ObjectStore
    private(set) var chain: KeyringChain
    private var secrets: RingSecrets
    private let opener: Opener

    init(_ base: any ObjectStore, _ chain: KeyringChain, _ secrets: RingSecrets, _ opener: Opener) {
        self.base = base
        self.chain = chain
        self.secrets = secrets
        self.opener = opener
    }

    /// With the keys as they are now.
    package var store: SealedStore {
        let history = SealedHistory(KeyringAuthority(chain, opener.author(at: 0)))
        return SealedStore(base, keys: secrets.sealingKeys(of: chain.newest.container), history: history)
    }

    /// The key of the sealed object that says what the container is called.
    package var descriptionKey: String { secrets.sealingKeys(of: chain.newest.container).storedDescription }

    var root: RingRoot { RingRoot(containerKey: secrets.containerKey, founder: chain.founder) }

    package var newest: Keyring { chain.newest }

    /// The device that has opened it; `nil` for a person and a guest.
    package var device: UUID? { if case .device(let memory) = opener { memory.device } else { nil } }

    /// What a device that has opened it is to keep from now on; `nil` for a person.
    package var memory: KeyringMemory? {
        guard case .device(let memory) = opener else { return nil }
        return KeyringMemory(chain, memory.access)
    }

    /// How long the JSON is that a device which is enrolled now is to keep, in bytes: at most 4 KiB more than that without
    /// it.
    package var keptByteCount: Int {
        let guest = KeyringMemory(chain, .guest(secrets: Data(secrets.bytes)))
        return ((try? JSONEncoder().encode(guest).count) ?? 0) + (4 << 10)
    }

    // MARK: Changing

    /// Enrols this device, which may write from then on; where the store does not let it write, it is a guest.
    ///
    /// - Parameters:
    ///   - time: Nanoseconds since 1970.
    /// - Returns: For the state of this device.
    package mutating func enrol(deviceName: String, time: Int64) async throws(KeyringError) -> KeyringMemory {
        let (id, keys) = (UUID(), DeviceKeys())
        do throws(KeyringError) {
            try await change(time: time) { change throws(KeyringError) in
                try change.enrol(id, name: deviceName, keys: keys.publicKeys, role: .writer)
            }
        } catch {
            guard case .store(let cause) = error, cause.code == .denied else { throw error }
            return KeyringMemory(chain, .guest(secrets: Data(secrets.bytes)))
        }
        return KeyringMemory(chain, .device(id, keys: keys.bytes))
    }

    /// Makes a version of the keyring.
    ///
    /// - Parameters:
    ///   - time: Nanoseconds since 1970.
    ///   - body: The changes; called again when another device has made a version meanwhile.
    /// - Throws: ``KeyringError`` with `refused` when whoever has opened it may not change it.
    package mutating func change(
        time: Int64, _ body: (inout KeyringChange) throws(KeyringError) -> Void
    ) async throws(KeyringError) {
        guard let author = opener.author(at: time) else {
            throw .refused("only a device that may write can change the keyring: do it on one of those")
        }
        let (before, opener) = (secrets, opener)
        let rings = KeyringStore(store: base, container: chain.newest.container)
        secrets = try await rings.change(&chain, by: author) { chain throws(KeyringError) in
            switch opener {
            // Where the slot is gone, its member was revoked, which is refused next.
            case .person(let member, let keys): try chain.newest.open(keys, ofPerson: member) ?? before
            case .device(let memory): try memory.open(chain)
            }
        } _: { change throws(KeyringError) in
            try body(&change)
        }
    }
}

extension UnlockedContainer.Opener {
    fileprivate func author(at time: Int64) -> KeyringChange.Author? {
        switch self {
        case .person(let member, let keys): KeyringChange.Author(device: member, keys: keys, time: time)
        case .device(let memory): memory.author(at: time)
        }
    }
}
