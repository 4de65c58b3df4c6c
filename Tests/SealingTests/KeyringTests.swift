import Foundation
import Model
import Mutations
import Remote
import SeededRandomness
import TestStores
import Testing

@testable import Sealing

/// Who gets at the keys of a container, and who does not, where the store does what it likes.
@Suite struct KeyringTests {
    private let container = UUID()
    private let store = MemoryStore()
    private var rings: KeyringStore { KeyringStore(store: store, container: container) }
    private let anna = UUID()
    private let ben = UUID()
    private let annasKeys = DeviceKeys()
    private let bensKeys = DeviceKeys()
    private let code = RecoveryCode()

    private func author(_ device: UUID, _ keys: DeviceKeys) -> KeyringChange.Author {
        KeyringChange.Author(device: device, keys: keys, time: 1)
    }

    @discardableResult private func found(_ passphrase: String = "first") async throws -> RingSecrets {
        let (object, secrets) = try KeyringChange.found(
            container: container, author: author(anna, annasKeys), name: "Anna's laptop",
            passphrase: try Passphrase(passphrase), recovery: code)
        try await rings.create(object, number: 1)
        return secrets
    }

    /// Makes a version on Anna's device, unless it is on another one.
    @discardableResult private func change(
        by device: UUID? = nil, _ keys: DeviceKeys? = nil, open secret: PersonalSecret? = nil,
        _ body: (inout KeyringChange) throws -> Void
    ) async throws -> RingSecrets {
        let chain = try await rings.chain()
        let author = author(device ?? anna, keys ?? annasKeys)
        let secrets =
            try secret.map { try chain.open($0).secrets } ?? chain.open(keys ?? annasKeys, of: device ?? anna)
        var change = try KeyringChange(of: chain, secrets: secrets, author: author)
        try body(&change)
        try await rings.create(try change.object(), number: chain.newest.number + 1)
        return change.secrets
    }

    private func chain() async throws -> KeyringChain { try await rings.chain() }

    private func passphrase(_ text: String) throws -> PersonalSecret { .passphrase(try Passphrase(text)) }

    private func epochs(_ secrets: RingSecrets) -> [UInt32: [UInt8]] { secrets.epochKeys.mapValues(\.bytes) }

    // MARK: Power failures

    /// A directory shows an object before its name is synced, and whoever fails to create it syncs the name.
    @Test func `a version that another device made is on the disk before anything is written under it`() async throws {
        try await found()
        var known = try await chain()
        try await change { $0.rotate() }
        let watched = FaultyStore(store)
        let others = KeyringStore(store: watched, container: container)
        #expect(try await others.extend(&known))
        #expect(known.newest.number == 2)
        #expect(watched.callCount(.create, prefix: others.key(2)) == 1)
        #expect(try await !others.extend(&known))
        #expect(watched.callCount(.create) == 1)
    }

    // MARK: Opening

    @Test func `passphrase, recovery code and device open the same keys, and nothing else does`() async throws {
        await #expect(throws: KeyringError.damaged("there is no keyring")) { try await rings.chain() }
        let secrets = try await found()
        let chain = try await chain()
        for opened in [
            try chain.open(passphrase("first")).secrets, try chain.open(.recovery(code)).secrets,
            try chain.open(annasKeys, of: anna),
            try chain.open(.recovery(try #require(RecoveryCode(code.text.lowercased())))).secrets,
        ] {
            #expect(opened.containerKey == secrets.containerKey && epochs(opened) == epochs(secrets))
        }
        #expect(throws: KeyringError.wrongSecret) { try chain.open(passphrase("First")) }
        #expect(throws: KeyringError.wrongSecret) { try chain.open(.recovery(RecoveryCode())) }
        #expect(throws: KeyringError.notEnrolled) { try chain.open(bensKeys, of: ben) }
        #expect(throws: KeyringError.damaged("the slot of this device does not open")) {
            try chain.open(bensKeys, of: anna)
        }
    }

    @Test func `a passphrase resembles a recovery code that was read wrongly, and only such a one`() throws {
        let letters = code.text
        for mistake in ["U" + letters.dropFirst(), "0" + letters, String(letters.dropLast()), letters.lowercased()] {
            #expect(try Passphrase(mistake).resemblesRecoveryCode, "\(mistake)")
            #expect(try Passphrase(mistake.replacing("-", with: " ")).resemblesRecoveryCode, "\(mistake)")
        }
        for other in [
            "correct horse", letters.replacing("-", with: ""), "\u{e9}" + letters, String(letters.prefix(40)),
        ] {
            #expect(try !Passphrase(other).resemblesRecoveryCode, "\(other)")
        }
    }

    @Test func `a passphrase is the same however its letters are composed`() async throws {
        try await found("caf\u{e9}")
        _ = try await chain().open(passphrase("cafe\u{301}"))
        // UAX #15: a syllable and its final consonant are one, also where only one of them was composed.
        for parts in ["\u{ac00}\u{11a8}", "\u{1100}\u{1161}\u{11a8}", "\u{ac01}"] {
            #expect(try Passphrase(parts).bytes == Array("\u{ac01}".utf8), "\(parts.unicodeScalars.count)")
        }
        #expect(throws: KeyringError.self) { try Passphrase("") }
        #expect(throws: KeyringError.self) { try Passphrase(String(repeating: "a", count: 1025)) }
        #expect("\(try Passphrase("secret"))" == "a passphrase")
        #expect(!String(reflecting: try Passphrase("secret")).contains("secret"))
    }

    @Test func `a mistake in a written recovery code is noticed`() {
        let code = RecoveryCode()
        let letters = Array(code.text)
        #expect(letters.count == 69)
        #expect(
            RecoveryCode(code.text.replacing("-", with: "  ").replacing("1", with: "l").replacing("0", with: "o"))
                == code)
        for place in letters.indices where letters[place] != "-" {
            var wrong = letters
            wrong[place] = letters[place] == "A" ? "B" : "A"
            #expect(RecoveryCode(String(wrong)) == nil)
        }
        for text in ["", "A", String(code.text.dropLast()), code.text + "A", "U" + code.text.dropFirst()] {
            #expect(RecoveryCode(text) == nil)
        }
    }

    // MARK: Changes

    @Test func `a new passphrase opens, and the old one does not`() async throws {
        let secrets = try await found()
        try await change { try $0.replace(with: try passphrase("second")) }
        let chain = try await chain()
        let opened = try chain.open(passphrase("second")).secrets
        #expect(opened.epoch == 2 && epochs(opened)[1] == epochs(secrets)[1])
        #expect(throws: KeyringError.wrongSecret) { try chain.open(passphrase("first")) }
        let new = RecoveryCode()
        try await change { try $0.replace(with: .recovery(new)) }
        _ = try await self.chain().open(.recovery(new))
        #expect(throws: KeyringError.wrongSecret) { try chain.open(.recovery(new)) }
    }

    @Test func `who knows a former passphrase changes nothing and reads nothing new`() async throws {
        try await found()
        let former = try await chain().open(passphrase("first"))
        let after = try await change { try $0.replace(with: try passphrase("second")) }
        #expect(epochs(former.secrets) != epochs(after))
        var chain = try await chain()
        #expect(throws: KeyringError.self) {
            try KeyringChange(
                of: chain, secrets: former.secrets, author: author(former.member, former.keys))
        }
        // With the keys, the object can be made nevertheless.
        var ring = chain.newest
        (ring.number, ring.previous, ring.maker) = (3, chain.pin.hash, former.member)
        try ring.close(after)
        let forged = try KeyringObject(ring, secrets: after, signer: former.keys).bytes()
        #expect(throws: KeyringError.notDescended("keyring 3 is not signed by a device that may change it")) {
            try chain.append(forged)
        }
        // The recovery code still opens it, and enrols a device.
        let person = try chain.open(.recovery(code))
        try await change(by: person.member, person.keys, open: .recovery(code)) {
            try $0.enrol(ben, name: "Ben's", keys: bensKeys.publicKeys, role: .writer)
        }
        #expect(epochs(try await self.chain().open(bensKeys, of: ben)) == epochs(after))
    }

    @Test func `a device is enrolled, revoked, and does not get the keys of what follows`() async throws {
        let before = try await found()
        try await change { try $0.enrol(ben, name: "Ben's", keys: bensKeys.publicKeys, role: .writer) }
        #expect(epochs(try await chain().open(bensKeys, of: ben)) == epochs(before))
        let after = try await change { try $0.revoke(ben) }
        let chain = try await chain()
        #expect(chain.newest.epoch == 2 && chain.newest.member(ben)?.revokedAt == 2)
        #expect(throws: KeyringError.notEnrolled) { try chain.open(bensKeys, of: ben) }
        for opened in [try chain.open(passphrase("first")).secrets, try chain.open(.recovery(code)).secrets] {
            #expect(epochs(opened) == epochs(after) && opened.epoch == 2)
        }
        // It does not come back under its old name.
        await #expect(throws: KeyringError.self) {
            try await change { try $0.enrol(ben, name: "Ben's", keys: bensKeys.publicKeys, role: .writer) }
        }
        await #expect(throws: KeyringError.self) { try await change { try $0.revoke(anna) } }
        await #expect(throws: KeyringError.self) { try await change { try $0.revoke(ben) } }
    }

    @Test func `two devices that change the keyring at once do not lose a change`() async throws {
        try await found()
        let chain = try await chain()
        let secrets = try chain.open(annasKeys, of: anna)
        for _ in 0..<2 {
            var change = try KeyringChange(of: chain, secrets: secrets, author: author(anna, annasKeys))
            change.rotate()
            let object = try change.object()
            if try await rings.chain().newest.number == 1 {
                try await rings.create(object, number: 2)
            } else {
                let taken = StoreError(.preconditionFailed, key: rings.key(2))
                await #expect(throws: KeyringError.store(taken)) {
                    try await rings.create(object, number: 2)
                }
            }
        }
    }

    // MARK: The store as the enemy

    @Test func `neither a reader nor a revoked device changes the keyring`() async throws {
        try await found()
        try await change { try $0.enrol(ben, name: "Ben's", keys: bensKeys.publicKeys, role: .reader) }
        var chain = try await chain()
        let secrets = try chain.open(bensKeys, of: ben)
        #expect(throws: KeyringError.self) {
            try KeyringChange(of: chain, secrets: secrets, author: author(ben, bensKeys))
        }
        // With the keys, it can make the object nevertheless.
        var ring = chain.newest
        (ring.number, ring.previous, ring.maker) = (3, chain.pin.hash, ben)
        try ring.close(secrets)
        let forged = try KeyringObject(ring, secrets: secrets, signer: bensKeys).bytes()
        #expect(throws: KeyringError.self) { try chain.append(forged) }
        ring.maker = anna
        let signedByBen = try KeyringObject(ring, secrets: secrets, signer: bensKeys).bytes()
        #expect(throws: KeyringError.self) { try chain.append(signedByBen) }
        #expect(chain.newest.number == 2)
    }

    @Test func `a keyring of the store's own making is refused, also for a new device`() async throws {
        try await found()
        let real = try await chain()
        let (storesKeys, passphrase) = (DeviceKeys(), try Passphrase("first"))
        // It knows the public keys of all slots, and wraps its own ring to them.
        let own = RingSecrets()
        let founder = Keyring.Member(
            id: anna, name: "Anna's", keys: storesKeys.publicKeys, role: .writer, enrolledBy: anna)
        var ring = Keyring(
            format: 2, container: container, number: 1, previous: nil, maker: anna, made: 1, epoch: 1,
            members: [founder], slots: real.newest.slots, secrets: Data())
        try ring.close(own)
        let fake = try KeyringChain(first: try KeyringObject(ring, secrets: own, signer: storesKeys).bytes())
        #expect(throws: KeyringError.damaged("it is not of the container for which the passphrase or code was made")) {
            try fake.open(.passphrase(passphrase))
        }
        #expect(throws: KeyringError.self) { try fake.open(.recovery(code)) }
        // A member who was revoked knows the container key, too.
        let secrets = try real.open(annasKeys, of: anna)
        try ring.close(secrets)
        let insider = try KeyringChain(first: try KeyringObject(ring, secrets: secrets, signer: storesKeys).bytes())
        #expect(throws: KeyringError.damaged("keyring 1 is not the one for which the passphrase or code was made")) {
            try insider.open(.passphrase(passphrase))
        }
        // Without the container's key, nothing is authentic that a founder's key did not sign.
        let other = try KeyringObject(real.newest, secrets: own, signer: annasKeys).bytes()
        #expect(throws: KeyringError.damaged("keyring 1 was made without the container's key")) {
            try KeyringChain(first: other).open(.passphrase(passphrase))
        }
    }

    @Test func `a version that forgets, changes or goes back is refused`() async throws {
        try await found()
        try await change { try $0.enrol(ben, name: "Ben's", keys: bensKeys.publicKeys, role: .writer) }
        let chain = try await chain()
        let secrets = try chain.open(annasKeys, of: anna)
        let changes: [(String, (inout Keyring) -> Void)] = [
            ("number", { $0.number = 5 }), ("previous", { $0.previous = Data(count: 32) }),
            ("forgotten", { $0.members.removeLast() }),
            (
                "renamed",
                {
                    $0.members[1] = .init(
                        id: ben, name: "x", keys: bensKeys.publicKeys, role: .writer, enrolledBy: anna)
                }
            ),
            (
                "keys",
                {
                    $0.members[1] = .init(
                        id: ben, name: "Ben's", keys: annasKeys.publicKeys, role: .writer, enrolledBy: anna)
                }
            ),
            (
                "role",
                {
                    $0.members[1] = .init(
                        id: ben, name: "Ben's", keys: bensKeys.publicKeys, role: .reader, enrolledBy: anna)
                }
            ),
            ("revoked without an epoch", { $0.members[1].revokedAt = 1 }),
            ("revoked later", { $0.members[1].revokedAt = 2 }),
            (
                "enrolled by another",
                {
                    $0.members.append(
                        .init(id: UUID(), name: "x", keys: DeviceKeys().publicKeys, role: .writer, enrolledBy: ben))
                }
            ),
        ]
        for (name, edit) in changes {
            var ring = chain.newest
            (ring.number, ring.previous, ring.maker) = (3, chain.pin.hash, anna)
            try ring.close(secrets)
            edit(&ring)
            var after = chain
            let object = try KeyringObject(ring, secrets: secrets, signer: annasKeys).bytes()
            #expect(throws: KeyringError.self, "\(name)") { try after.append(object) }
            #expect(after.newest == chain.newest)
        }
        // The same without an edit is accepted.
        var ring = chain.newest
        (ring.number, ring.previous, ring.maker) = (3, chain.pin.hash, anna)
        try ring.close(secrets)
        var after = chain
        try after.append(try KeyringObject(ring, secrets: secrets, signer: annasKeys).bytes())
    }

    @Test(arguments: [
        PassphraseCost(rounds: 1 << 16, blockSize: 8, parallelism: 1),
        PassphraseCost(rounds: 1 << 30, blockSize: 8, parallelism: 1),
        PassphraseCost(rounds: (1 << 17) + 1, blockSize: 8, parallelism: 1),
        PassphraseCost(rounds: 1 << 17, blockSize: 1 << 30, parallelism: 1),
        PassphraseCost(rounds: 1 << 17, blockSize: 8, parallelism: 1 << 20),
        PassphraseCost(rounds: -1, blockSize: 8, parallelism: 1),
        PassphraseCost(rounds: 0, blockSize: 0, parallelism: 0),
    ])
    func `absurd parameters are refused before any work is done`(cost: PassphraseCost) async throws {
        let secrets = try await found()
        var ring = try await chain().newest
        for (index, slot) in ring.slots.enumerated() {
            guard case .passphrase(let member, _, let salt, let wrapped) = slot.kind else { continue }
            ring.slots[index].kind = .passphrase(member: member, cost: cost, salt: salt, wrapped: wrapped)
        }
        let chain = try KeyringChain(first: try KeyringObject(ring, secrets: secrets, signer: annasKeys).bytes())
        let refusal = #expect(throws: KeyringError.self) { try chain.open(passphrase("first")) }
        guard case .parameters = refusal else {
            Issue.record("\(String(describing: refusal))")
            return
        }
    }

    @Test func `a keyring with many passphrases is refused before one is tried`() async throws {
        let secrets = try await found()
        var ring = try await chain().newest
        let slot = try #require(ring.slots.first { if case .passphrase = $0.kind { true } else { false } })
        ring.slots += Array(repeating: slot, count: Keyring.personalSlotLimit)
        let bytes = try KeyringObject(ring, secrets: secrets, signer: annasKeys).bytes()
        #expect(throws: KeyringError.damaged("its members or slots break the rules")) {
            try KeyringChain(first: bytes)
        }
    }

    /// Any bit of a stored version.
    @Test func `a keyring with another byte is refused, or opens as it was`() async throws {
        let secrets = try await found()
        let good = try await store.get(rings.key(1), range: nil).collect(upTo: 1 << 20)
        var generator = SeededGenerator(seed: 5)
        for _ in 0..<JSONMutation.count {
            var bad = good
            let place = Int.random(in: 0..<bad.count, using: &generator)
            switch Int.random(in: 0...2, using: &generator) {
            case 0: bad[place] = UInt8.random(in: 0...255, using: &generator)
            case 1: bad.removeSubrange(place..<min(bad.count, place + Int.random(in: 1...50, using: &generator)))
            default: bad.insert(UInt8.random(in: 0...255, using: &generator), at: place)
            }
            do throws(KeyringError) {
                let opened = try KeyringChain(first: bad).open(annasKeys, of: anna)
                #expect(epochs(opened) == epochs(secrets))
            } catch {}
        }
    }
}
