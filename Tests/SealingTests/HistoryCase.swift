import Crypto
import Foundation
import Model
import Remote
import Synchronization
import TestStores
import Testing

@testable import Sealing

/// Tests of the history of an encrypted container, in a store that can be looked into.
protocol HistoryCase {
    var base: MemoryStore { get }
    var code: RecoveryCode { get }
}

/// A member's device, with what it remembers.
final class HistoryDevice {
    let memory: KeyringMemory
    private let base: MemoryStore

    init(_ memory: KeyringMemory, _ base: MemoryStore) {
        self.memory = memory
        self.base = base
    }

    /// As after a start: with the newest commit that it has seen, or without.
    func start(newest: SealedHistory.Entry? = nil, description: SeenDescription? = nil) throws -> SealedStore {
        try start(MemoryNotebook(newest, description))
    }

    func start(_ notebook: MemoryNotebook) throws -> SealedStore {
        let keyring = try OpenKeyring(memory, store: base, notebook: Forgetful())
        return SealedStore(base, keys: keyring, history: SealedHistory(keyring, notebook: notebook))
    }
}

final class MemoryNotebook: HistoryNotebook {
    private let seen: Mutex<(newest: SealedHistory.Entry?, description: SeenDescription?)>

    init(_ newest: SealedHistory.Entry? = nil, _ description: SeenDescription? = nil) {
        seen = Mutex((newest, description))
    }

    var newest: SealedHistory.Entry? { seen.withLock { $0.newest } }
    var description: SeenDescription? { seen.withLock { $0.description } }

    func remember(_ newest: SealedHistory.Entry) { seen.withLock { $0.newest = newest } }
    func remember(description: SeenDescription) { seen.withLock { $0.description = description } }
}

private struct Forgetful: KeyringNotebook {
    func remember(_ memory: KeyringMemory) {}
    func hasChanged() -> Bool { false }
    func forget() {}
}

extension HistoryCase {
    var identity: ContainerIdentity {
        ContainerIdentity(
            id: ContainerIdentifier("iCloud.org.dewpoint.Tests")!, uuid: UUID(), created: Timestamp(rawValue: 0),
            settings: .init(name: "Tests", documentScopePublic: false, folderLevels: .any))
    }

    /// Anna's device, which has made the container.
    func anna() async throws -> HistoryDevice {
        let memory = try await SealedContainer.create(
            in: base, identity: identity, passphrase: try Passphrase("correct horse"), recovery: code,
            deviceName: "anna", time: 1)
        return HistoryDevice(memory, base)
    }

    func open(_ device: HistoryDevice) async throws -> UnlockedContainer {
        try await #require(try await SealedContainer.find(in: base)).open(device.memory)
    }

    func enrolled(_ name: String, _ role: Keyring.Role = .writer, by device: HistoryDevice) async throws
        -> HistoryDevice
    {
        let enrolment = try await Enrolment(in: base, container: device.memory.container, name: name, time: 1)
        var container = try await open(device)
        #expect(try await Enrolment.accept(enrolment.code, role: role, in: &container, time: 2) == name)
        return HistoryDevice(try #require(try await enrolment.answer()), base)
    }

    func commit(_ number: UInt64) -> String { SealedHistory.commitKey(number) }

    func write(_ number: UInt64, _ text: String, in store: SealedStore) async throws {
        try await store.create(commit(number), .bytes(Array(text.utf8)))
    }

    func read(_ key: String, in store: SealedStore) async throws -> String {
        String(decoding: try await store.get(key, range: nil).collect(upTo: 1 << 20), as: UTF8.self)
    }

    func stored(_ key: String) async throws -> [UInt8] {
        try await base.get(key, range: nil).collect(upTo: 1 << 20)
    }

    func reason(_ body: () async throws -> Void) async -> String? {
        do {
            try await body()
            return nil
        } catch let error as StoreError {
            return error.detail
        } catch {
            return "\(error)"
        }
    }
}
