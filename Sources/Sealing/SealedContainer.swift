package import Foundation
package import Model
package import Remote

/// A sealed container, before its keys are known: what stands in `container.json`.
package struct SealedContainer: Sendable {
    /// What stands at a place.
    package enum Found: Sendable {
        case sealed(SealedContainer)
        case plain(Container)
    }

    package let uuid: UUID
    private let base: any ObjectStore

    private var rings: KeyringStore { KeyringStore(store: base, container: uuid) }

    private init(_ uuid: UUID, _ base: any ObjectStore) {
        self.uuid = uuid
        self.base = base
    }

    /// Looks what stands at a place, with one request.
    ///
    /// - Throws: ``StoreError`` as ``Container/open(in:)``; with `corrupt` also for what is no description of a container
    ///   where there is a keyring.
    package static func look(in base: any ObjectStore) async throws(StoreError) -> Found {
        let text = try await Container.read(base)
        do throws(StoreError) { return try judge(text, in: base) } catch {
            // Where the store does not say, what is wrong with the object is all that is known.
            guard error.code == .corrupt, (try? await KeyringStore.hasKeyring(in: base)) == true else { throw error }
            throw StoreError(.corrupt, key: ContainerStub.key, "\(error.detail); \(besideKeyring)")
        }
    }

    /// What the unfinished copy at a place is to be; `nil` where there is none.
    ///
    /// - Throws: ``StoreError`` as ``look(in:)``.
    package static func unfinishedCopy(in base: any ObjectStore) async throws(StoreError) -> Found? {
        guard let mark = try await CopyMark(in: base) else { return nil }
        return try judge(mark.text, in: base)
    }

    private static func judge(_ text: [UInt8], in base: any ObjectStore) throws(StoreError) -> Found {
        if let stub = ContainerStub(text) { return .sealed(SealedContainer(stub.uuid, base)) }
        try ContainerStub.refuseFormat(of: text)
        // What is no stub is judged by who opens a plain container.
        return .plain(try Container.open(text, in: base))
    }

    private static let besideKeyring =
        "there is a keyring, so the container was encrypted, and this object was cut, changed or exchanged: "
        + ContainerRemains.stubRemedy

    /// The same for a device that does not know the container, with more requests where it is not sealed: a keyring
    /// tells that it was, and a device that took it for a plain one would write plain text into it.
    ///
    /// - Throws: ``StoreError`` as ``look(in:)``, also with `corrupt` for a plain container beside a keyring; with
    ///   `notFound` and what to do where only `container.json` is missing.
    package static func examine(_ base: any ObjectStore) async throws(StoreError) -> Found {
        let found: Found
        do throws(StoreError) { found = try await look(in: base) } catch {
            guard error.code == .notFound, let remains = try await ContainerRemains.find(in: base) else { throw error }
            throw remains.error(creating: false)
        }
        guard case .plain(let container) = found, try await KeyringStore.hasKeyring(in: base) else { return found }
        throw StoreError(
            .corrupt, key: ContainerStub.key,
            "it is that of a plain container, \(container.identity.id); \(besideKeyring); if it was always plain, an "
                + "interrupted creation has left the keyring: move keyring/ to another place")
    }

    /// - Returns: `nil` for a plain container, and where there is none.
    package static func find(in base: any ObjectStore) async throws(StoreError) -> SealedContainer? {
        do throws(StoreError) {
            if case .sealed(let container) = try await look(in: base) { return container }
        } catch {
            guard error.code == .notFound else { throw error }
        }
        return nil
    }

    // MARK: Creating

    /// Creates a container: nothing is there before its last object, the stub. A copy is created without it, and gets it
    /// when it is complete; see ``CopyMark``.
    ///
    /// - Parameters:
    ///   - deviceName: At most 255 bytes.
    ///   - time: Nanoseconds since 1970.
    ///   - isCopy: Whether it is to be a copy of another container. Then this device is not enrolled: somebody must found
    ///     the keyring, and where nobody keeps his keys, he is revoked before the container is there.
    ///   - uuid: Not that of the identity: a copy of a container has the same, and a keyring of its own.
    /// - Returns: For the state of this device.
    /// - Throws: ``KeyringError``; with `store`, `preconditionFailed` where there is a container, or what is left of
    ///   one that was finished.
    package static func create(
        in base: any ObjectStore, identity: ContainerIdentity, passphrase: Passphrase, recovery: RecoveryCode,
        deviceName: String, time: Int64, isCopy: Bool = false, uuid: UUID = UUID()
    ) async throws(KeyringError) -> KeyringMemory {
        let container = SealedContainer(uuid, base)
        let author = KeyringChange.Author(device: UUID(), keys: DeviceKeys(), time: time)
        let (object, secrets) = try KeyringChange.found(
            container: container.uuid, author: author, name: deviceName, passphrase: passphrase, recovery: recovery)
        let chain = try KeyringChain(first: try object.bytes())
        try await container.refuseAnother()
        do throws(StoreError) {
            try await ContainerRemains.refuse(in: base, creatingEncrypted: true)
            let history = SealedHistory(KeyringAuthority(chain, author))
            let sealed = SealedStore(base, keys: secrets.sealingKeys(of: container.uuid), history: history)
            try await Container.describe(identity, in: sealed)
        } catch {
            throw .store(error)
        }
        try await container.rings.create(object, number: 1)
        let memory = KeyringMemory(chain, .device(author.device, keys: author.keys.bytes))
        if isCopy {
            var founded = UnlockedContainer(base, chain, secrets, .device(memory))
            try await founded.change(time: time) { change throws(KeyringError) in try change.retireFounder() }
        }
        try await isCopy ? container.createMark() : container.createStub()
        return memory
    }

    private func refuseAnother() async throws(KeyringError) {
        do throws(StoreError) {
            _ = try await base.head(.container(ContainerStub.key))
        } catch {
            guard error.code == .notFound else { throw .store(error) }
            return
        }
        throw .store(StoreError(.preconditionFailed, key: ContainerStub.key, "there is already a container here"))
    }

    private func createStub() async throws(KeyringError) {
        do throws(StoreError) {
            try await base.create(ContainerStub.key, .bytes(Array(ContainerStub(uuid: uuid).text.utf8)))
        } catch {
            // The write may have landed although it failed.
            guard let found = try? await Self.find(in: base), found.uuid == uuid else { throw .store(error) }
        }
    }

    private func createMark() async throws(KeyringError) {
        let mark = CopyMark(Array(ContainerStub(uuid: uuid).text.utf8))
        do throws(StoreError) { try await mark.create(in: base) } catch { throw .store(error) }
    }

    // MARK: Opening

    /// Opens the keyring by what a person knows.
    ///
    /// - Throws: ``KeyringError``.
    package func unlock(_ secret: PersonalSecret) async throws(KeyringError) -> UnlockedContainer {
        let chain = try await rings.chain()
        let (secrets, member, keys) = try chain.open(secret)
        return UnlockedContainer(base, chain, secrets, .person(member, keys))
    }

    /// Takes a device out of the keyring again that was enrolled just now and cannot keep its keys.
    ///
    /// - Returns: Whether it is out of it; a reader cannot change the keyring.
    package func withdraw(_ memory: KeyringMemory) async -> Bool {
        guard let device = memory.device, var opened = try? await open(memory) else { return false }
        do throws(KeyringError) {
            try await opened.change(time: Int64(Date.now.timeIntervalSince1970 * 1e9)) { change throws(KeyringError) in
                try change.revoke(device)
            }
            return true
        } catch {
            return false
        }
    }

    /// Opens the keyring, as it is now, by what a device keeps.
    ///
    /// - Throws: ``KeyringError``; `damaged` when the memory is that of another container.
    package func open(_ memory: KeyringMemory) async throws(KeyringError) -> UnlockedContainer {
        guard memory.container == uuid else { throw .damaged("it is of another container than this device knows") }
        var chain = try memory.chain()
        // A copy of the container has the same UUID and another keyring.
        guard try await rings.has(chain.pin) else {
            throw .notDescended("keyring \(chain.newest.number) in the store is not the one that this device knows")
        }
        _ = try await rings.extend(&chain)
        return UnlockedContainer(base, chain, try memory.open(chain), .device(memory))
    }
}
