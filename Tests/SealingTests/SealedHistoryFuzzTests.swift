import Foundation
import Model
import Mutations
import Remote
import SeededRandomness
import TestStores
import Testing

@testable import Sealing

/// Commits that were changed: by a store, and by a member, who can seal what he likes but not sign for others.
@Suite struct SealedHistoryFuzzTests {
    private struct Forgetful: KeyringNotebook {
        func remember(_ memory: KeyringMemory) {}
        func hasChanged() -> Bool { false }
        func forget() {}
    }

    private let base = MemoryStore()
    private let identity = ContainerIdentity(
        id: ContainerIdentifier("iCloud.org.dewpoint.Tests")!, uuid: UUID(), created: Timestamp(rawValue: 0),
        settings: .init(name: "Tests", documentScopePublic: false, folderLevels: .any))

    private static func mutated(_ good: [UInt8], _ generator: inout SeededGenerator) -> [UInt8] {
        var bytes = good
        for _ in 0..<Int.random(in: 1...3, using: &generator) {
            let place = Int.random(in: 0...bytes.count, using: &generator)
            let count = Int.random(in: 1...200, using: &generator)
            switch Int.random(in: 0...3, using: &generator) {
            case 0: if place < bytes.count { bytes[place] = UInt8.random(in: 0...255, using: &generator) }
            case 1: bytes.removeSubrange(place..<min(bytes.count, place + count))
            case 2: bytes.insert(contentsOf: good.suffix(count), at: place)
            default: bytes = Array(bytes.prefix(place))
            }
        }
        return bytes
    }

    @Test func `a commit that was changed, or that a member has sealed with another's signature, is refused`()
        async throws
    {
        let memory = try await SealedContainer.create(
            in: base, identity: identity, passphrase: try Passphrase("correct horse"), recovery: RecoveryCode(),
            deviceName: "anna", time: 1)
        let keyring = try OpenKeyring(memory, store: base, notebook: Forgetful())
        let writer = SealedStore(base, keys: keyring, history: SealedHistory(keyring))
        let key = SealedHistory.commitKey(2)
        let text = Array("the second commit".utf8)
        try await writer.create(SealedHistory.commitKey(1), .bytes(Array("the first commit".utf8)))
        try await writer.create(key, .bytes(text))
        let sealed = try await base.get(key, range: nil).collect(upTo: 1 << 20)
        // Without a history: what is signed, and the signature, are bytes as others.
        let sealing = SealedStore(base, keys: keyring)
        let signed = try await sealing.get(key, range: nil).collect(upTo: 1 << 20)
        #expect(signed.count == Endorsement.byteCount + text.count)
        var refusedCount: UInt64 = 0
        let count = JSONMutation.count / 4
        for seed in 1...count {
            var generator = SeededGenerator(seed: seed)
            let good = seed % 2 == 0 ? sealed : signed
            let bad = Self.mutated(good, &generator)
            if seed % 2 == 0 { try await base.put(key, .bytes(bad)) } else { try await sealing.put(key, .bytes(bad)) }
            // As after a start: it knows nothing of the commit.
            let reader = SealedStore(base, keys: keyring, history: SealedHistory(keyring))
            do throws(StoreError) {
                let read = try await reader.get(key, range: nil).collect(upTo: 1 << 20)
                // An empty object takes the place of a commit that was trimmed.
                #expect(bad == good ? read == text : bad.isEmpty && read.isEmpty, "seed \(seed)")
            } catch {
                #expect(error == StoreError(.corrupt, key: key), "seed \(seed): \(error)")
                refusedCount += 1
            }
        }
        #expect(refusedCount > count * 9 / 10)
        if JSONMutation.isAlone { #expect(JSONMutation.peakByteCount < 300 << 20) }
    }
}
