import Crypto
import Foundation
import Remote
import Sealing
import TestStores

/// The store of a container that is sealed in some runs.
extension World {
    static let sealingKeys = SealingKeys(
        container: containerUUID, epoch: 1, epochKeys: [1: SymmetricKey(data: [UInt8](repeating: 1, count: 32))],
        containerKey: SymmetricKey(data: [UInt8](repeating: 2, count: 32)))

    /// What a device does its requests with.
    func store(over base: any ObjectStore) -> any ObjectStore {
        guard let sealingKeys else { return base }
        // The same object has the same salt, so that a write that is repeated changes nothing.
        return SealedStore(base, keys: sealingKeys, history: SealedHistory(OnlyWriter(keys: sealingKeys))) {
            [seed] key in
            var random = SeededRandom(seed: seed, stream: "salt of \(key)")
            return (0..<32).map { _ in UInt8(random.number(0...255)) }
        }
    }

    func createContainer() async throws(StoreError) {
        try await Container.create(in: store(over: store), identity: identity)
        guard let sealingKeys else { return }
        // Devices verify that it is there, although they read the sealed one.
        let stub = ContainerStub(uuid: sealingKeys.container)
        try await store.create("container.json", .bytes(Array(stub.text.utf8)))
    }

    /// The bytes of an object, as a device would read them.
    ///
    /// - Parameter includingDeleted: Whether objects count that garbage collection has deleted.
    func object(at key: String, includingDeleted: Bool = false) throws(Violation) -> [UInt8]? {
        let stored = sealingKeys?.storedKey(of: key) ?? key
        guard let object = store.object(at: stored) ?? (includingDeleted ? deletedObject(stored) : nil) else {
            return nil
        }
        do throws(StoreError) { return try sealingKeys?.open(object, key: key, isEndorsed: true) ?? object } catch {
            throw Violation("\(key) cannot be opened: \(error)")
        }
    }
}

/// All devices write with one signature.
private struct OnlyWriter: HistoryAuthority {
    private static let member = UUID()
    private static let keys = DeviceKeys()
    private static let ring = KeyringChain.Pin(number: 1, hash: Data(count: 32))

    let keys: SealingKeys

    var container: UUID { keys.container }
    var signer: HistorySigner? { HistorySigner(member: Self.member, keys: Self.keys, ring: Self.ring) }

    func mayWrite(_ member: UUID) -> Bool { member == Self.member }
    func renew() {}
    var formerMemberCount: Int { 0 }
    func isRevoked(_ member: UUID, under ring: Int) -> Bool { false }

    func signingKey(of member: UUID, under ring: KeyringChain.Pin, key: String) throws(StoreError) -> Data {
        guard member == Self.member, ring == Self.ring else { throw StoreError(.corrupt, key: key, "not signed here") }
        return Self.keys.publicKeys.signing
    }
}
