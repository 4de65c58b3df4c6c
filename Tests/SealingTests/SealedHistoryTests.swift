import Crypto
import Foundation
import Model
import Remote
import Synchronization
import TestStores
import Testing

@testable import Sealing

/// A store that would like devices to believe another history.
@Suite struct SealedHistoryTests: HistoryCase {
    let base = MemoryStore()
    let code = RecoveryCode()

    @Test func `commits of all who may write are read by all, also after a start`() async throws {
        let anna = try await anna()
        let ben = try await enrolled("ben", by: anna)
        let reader = try await enrolled("reader", .reader, by: anna)
        let (here, there) = (try anna.start(), try ben.start())
        try await write(1, "one", in: here)
        #expect(try await read(commit(1), in: there) == "one")
        try await write(2, "two", in: there)
        #expect(try await read(commit(2), in: here) == "two")
        // Who has just started reads the commit before, to go on from it.
        try await write(3, "three", in: try ben.start())
        #expect(try await read(commit(3), in: here) == "three")
        let watching = try reader.start()
        for (number, text) in [(1, "one"), (2, "two"), (3, "three")] as [(UInt64, String)] {
            #expect(try await read(commit(number), in: watching) == text)
        }
        await #expect(throws: StoreError(.denied, key: commit(4))) { try await write(4, "four", in: watching) }
        // A person writes, too.
        let unlocked = try await #require(try await SealedContainer.find(in: base)).unlock(.recovery(code))
        try await write(4, "four", in: unlocked.store)
        #expect(try await read(commit(4), in: here) == "four")
        #expect(try await here.list(prefix: "log/", after: nil, limit: 9).count == 4)
    }

    @Test func `a snapshot says which commit it is of, and the log goes on from it`() async throws {
        let anna = try await anna()
        let here = try anna.start()
        try await write(1, "one", in: here)
        try await write(2, "two", in: here)
        let snapshot = SealedHistory.snapshotKey(2)
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        try Data(bytes).write(to: URL(filePath: file))
        defer { try? FileManager.default.removeItem(atPath: file) }
        try await here.create(snapshot, .file(path: file, range: 0..<300_000))
        for number in 1...2 as ClosedRange<UInt64> { try await here.put(commit(number), .bytes([])) }
        #expect(try await here.list(prefix: "log/", after: nil, limit: 9).map(\.byteCount) == [0, 0])
        #expect(try await read(commit(2), in: here) == "")
        let there = try anna.start()
        #expect(try await there.get(snapshot, range: nil).collect(upTo: 1 << 20) == bytes)
        try await write(3, "three", in: there)
        // Also for who has seen neither.
        try await write(4, "four", in: try anna.start())
        #expect(try await read(commit(3), in: here) == "three")
        #expect(try await read(commit(4), in: here) == "four")
    }

    @Test func `what a reader, a revoked device or nobody has signed is refused`() async throws {
        let anna = try await anna()
        let reader = try await enrolled("reader", .reader, by: anna)
        let ben = try await enrolled("ben", by: anna)
        let here = try anna.start()
        try await write(1, "one", in: here)
        let bens = try ben.start()
        #expect(try await read(commit(1), in: bens) == "one")
        var container = try await open(anna)
        let bensID = try #require(ben.memory.device)
        try await container.change(time: 3) { change throws(KeyringError) in try change.revoke(bensID) }
        // Ben's device does what it is told no more. With its keys and the store, the object can be made nevertheless.
        let old = try ben.memory.chain()
        let author = try #require(ben.memory.author(at: 0))
        for (name, chain, author) in [
            ("ben", old, author), ("reader", try reader.memory.chain(), try #require(reader.memory.author(at: 0))),
        ] {
            let signer = HistorySigner(member: author.device, keys: author.keys, ring: chain.pin)
            try await forgeAfter(1, by: signer, keys: try ben.memory.keys())
            // A revocation counts from the first commit that was written under it.
            let seen = await reason { _ = try await read(commit(2), in: try anna.start()) }
            #expect(name == "reader" ? seen?.contains("might not write") == true : seen == nil, "\(name) \(seen ?? "")")
            try await base.delete(commit(2))
        }
        // At its start a device looks for new keyrings.
        try await write(2, "two", in: try anna.start())
        #expect(try await read(commit(2), in: here) == "two")
        let signer = HistorySigner(member: author.device, keys: author.keys, ring: old.pin)
        // Its keys do not open the commit before: it takes the hash from the store.
        try await forgeAfter(2, by: signer, keys: try ben.memory.keys())
        #expect(
            await reason { _ = try await read(commit(3), in: here) }
                == "it was written under keyring 3, although keyring 4 was known before")
        // Nobody: sealed by who has the keys, and not signed.
        try await SealedStore(base, keys: try anna.memory.keys()).put(commit(3), .bytes(Array("unsigned".utf8)))
        #expect(await reason { _ = try await read(commit(3), in: here) } == "nobody has signed it")
    }

    @Test func `a device that has learnt of its revocation writes nothing more, however often it tries`() async throws {
        let anna = try await anna()
        let ben = try await enrolled("ben", by: anna)
        let notebook = Restless()
        let keyring = try OpenKeyring(ben.memory, store: base, notebook: notebook)
        let there = SealedStore(base, keys: keyring, history: SealedHistory(keyring))
        try await write(1, "one", in: there)
        var container = try await open(anna)
        let bensID = try #require(ben.memory.device)
        try await container.change(time: 3) { change throws(KeyringError) in try change.revoke(bensID) }
        notebook.changed.store(true, ordering: .relaxed)
        for _ in 1...3 {
            await #expect(throws: StoreError.self) { try await write(2, "two", in: there) }
            notebook.changed.store(false, ordering: .relaxed)
        }
        await #expect(throws: StoreError(.notFound, key: commit(2))) { _ = try await stored(commit(2)) }
    }

    private final class Restless: KeyringNotebook {
        let changed = Atomic(false)
        func remember(_ memory: KeyringMemory) {}
        func hasChanged() -> Bool { changed.load(ordering: .relaxed) }
        func forget() {}
    }

    @Test func `a snapshot under a new keyring leaves commits good of who did not know it yet`() async throws {
        let anna = try await anna()
        let ben = try await enrolled("ben", by: anna)
        let (here, there) = (try anna.start(), try ben.start())
        try await write(1, "one", in: here)
        #expect(try await read(commit(1), in: there) == "one")
        // Ben's device has just looked for keyrings.
        try await write(2, "two", in: there)
        var container = try await open(anna)
        try await container.change(time: 3) { change throws(KeyringError) in change.rotate() }
        let snapshot = SealedHistory.snapshotKey(2)
        try await container.store.create(snapshot, .bytes(Array("tree".utf8)))
        try await write(3, "three", in: there)
        let new = try anna.start()
        #expect(try await read(snapshot, in: new) == "tree")
        #expect(try await read(commit(3), in: new) == "three")
        #expect(try await read(snapshot, in: here) == "tree")
        #expect(try await read(commit(3), in: here) == "three")
    }

    private func forgeAfter(
        _ number: UInt64, by signer: HistorySigner, keys: SealingKeys
    ) async throws {
        let text = Array("forged".utf8)
        let endorsement = try Endorsement(
            of: SHA256.hash(data: text), key: commit(number + 1),
            predecessor: KeyringObject.hash(try await stored(commit(number))), by: signer,
            container: keys.container)
        try await SealedStore(base, keys: keys).put(commit(number + 1), .bytes(endorsement.bytes + text))
    }

    @Test func `a history that was rewritten is named, and not taken over`() async throws {
        let anna = try await anna()
        let here = try anna.start()
        for number in 1...3 as ClosedRange<UInt64> { try await write(number, "\(number)", in: here) }
        let there = try anna.start()
        for number in 1...3 as ClosedRange<UInt64> { _ = try await read(commit(number), in: there) }
        let newest = SealedHistory.Entry(
            number: 3, hash: KeyringObject.hash(try await stored(commit(3))), ring: 1)
        // Another commit 3 of a true writer, which the store kept: of two that were written at once.
        try await base.delete(commit(3))
        try await write(3, "other", in: try anna.start())
        for store in [here, there, try anna.start(newest: newest)] {
            #expect(
                await reason { _ = try await read(commit(3), in: store) }?.hasPrefix(
                    "the store shows another commit 3 than this device has seen") == true)
        }
        // And one that follows from it.
        try await write(4, "four", in: try anna.start())
        for store in [here, there, try anna.start(newest: newest)] {
            #expect(
                await reason { _ = try await read(commit(4), in: store) }?.hasPrefix(
                    "the store shows another commit 3 than this device has seen") == true)
        }
        // A new device cannot know.
        #expect(try await read(commit(4), in: try anna.start()) == "four")
    }

    @Test func `a commit under a keyring that the store keeps back is refused`() async throws {
        let anna = try await anna()
        let ben = try await enrolled("ben", by: anna)
        let bens = try ben.start()
        var container = try await open(anna)
        try await container.change(time: 3) { change throws(KeyringError) in change.rotate() }
        try await write(1, "one", in: container.store)
        let ring = KeyringStore(store: base, container: anna.memory.container).key(3)
        let kept = try await stored(ring)
        try await base.delete(ring)
        // Its epoch is not known either.
        #expect(await reason { _ = try await read(commit(1), in: bens) }?.contains("epoch 2") == true)
        try await base.put(ring, .bytes(kept))
        #expect(try await read(commit(1), in: bens) == "one")
    }

    /// A commit under an older keyring than that of the one before would be refused by everybody, and the log be stuck.
    @Test func `a device that lags behind a change of the keyring does not write under the old one`() async throws {
        let anna = try await anna()
        let ben = try await enrolled("ben", by: anna)
        let (here, there) = (try anna.start(), try ben.start())
        try await write(1, "one", in: there)
        // Ben's device has just looked for keyrings, and does not look again for five seconds.
        var container = try await open(anna)
        try await container.change(time: 3) { change throws(KeyringError) in change.rotate() }
        try await write(2, "two", in: container.store)
        try await write(3, "three", in: there)
        try await write(4, "four", in: there)
        for (number, text) in [(1, "one"), (2, "two"), (3, "three"), (4, "four")] as [(UInt64, String)] {
            #expect(try await read(commit(number), in: here) == text)
        }
    }

    @Test func `a commit or snapshot with another endorsement is refused`() async throws {
        let anna = try await anna()
        let here = try anna.start()
        try await write(1, "one", in: here)
        let keys = try anna.memory.keys()
        let plain = try keys.open(try await stored(commit(1)), key: commit(1))
        for place in 0..<Endorsement.byteCount {
            var bad = plain
            bad[place] ^= 1
            try await SealedStore(base, keys: keys).put(commit(1), .bytes(bad))
            await #expect(throws: StoreError(.corrupt, key: commit(1)), "\(place)") {
                _ = try await read(commit(1), in: try anna.start())
            }
        }
        // That of another number.
        try await SealedStore(base, keys: keys).put(commit(2), .bytes(plain))
        #expect(await reason { _ = try await read(commit(2), in: try anna.start()) } == "its signature is wrong")
        try await SealedStore(base, keys: keys).put(SealedHistory.snapshotKey(1), .bytes(plain))
        await #expect(throws: StoreError(.corrupt, key: SealedHistory.snapshotKey(1))) {
            _ = try await read(SealedHistory.snapshotKey(1), in: try anna.start())
        }
    }

    @Test func `two devices that were shown different histories notice it when they tell each other, and only then`()
        async throws
    {
        let anna = try await anna()
        let ben = try await enrolled("ben", by: anna)
        try await write(1, "one", in: try anna.start())
        // The store shows ben another world from now on, in which both write the second commit.
        let copy = MemoryStore()
        for entry in try await base.list(prefix: "", after: nil, limit: 1000) {
            try await copy.create(entry.key, .bytes(try await stored(entry.key)))
        }
        let (here, there) = (try anna.start(), try HistoryDevice(ben.memory, copy).start())
        for store in [here, there] { #expect(try await read(commit(1), in: store) == "one") }
        func told(_ number: UInt64, by store: SealedStore) -> CommitHint {
            CommitHint(
                device: DeviceID(uuid: UUID()), number: number, time: Timestamp(rawValue: 0),
                hash: store.hash(ofCommit: number))
        }
        try await write(2, "of anna", in: here)
        #expect(there.fork(told(2, by: here), from: "anna") == nil, "ben knows no second commit yet")
        #expect(there.fork(told(1, by: here), from: "anna") == nil)
        try await write(2, "of ben", in: there)
        let sentence = try #require(there.fork(told(2, by: here), from: "anna (192.0.2.1)"))
        #expect(sentence.hasPrefix("the store shows two histories: commit 2 is "))
        #expect(sentence.contains(" on anna (192.0.2.1); nothing is sent or taken over until the next mount"))
        #expect(here.fork(told(2, by: there), from: "ben") != nil)
        #expect(here.fork(told(3, by: there), from: "ben") == nil)
    }
}
