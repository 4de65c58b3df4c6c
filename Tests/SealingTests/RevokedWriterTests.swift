import Crypto
import Foundation
import Model
import Remote
import Synchronization
import TestStores
import Testing

@testable import Sealing

/// What a device that was revoked signs with the keys that it still has, helped by the store.
@Suite struct RevokedWriterTests: HistoryCase {
    let base = MemoryStore()
    let code = RecoveryCode()

    /// Whoever was revoked, or knows a former passphrase, has keys of before, and may have the store.
    @Test func `a snapshot that a revoked device makes up is refused`() async throws {
        let anna = try await anna()
        let ben = try await enrolled("ben", by: anna)
        let here = try anna.start()
        try await write(1, "one", in: here)
        try await write(2, "two", in: try ben.start())
        #expect(try await read(commit(2), in: here) == "two")
        var container = try await open(anna)
        let bensID = try #require(ben.memory.device)
        try await container.change(time: 3) { change throws(KeyringError) in try change.revoke(bensID) }
        try await write(3, "three", in: container.store)
        #expect(try await read(commit(3), in: here) == "three")
        let newest = SealedHistory.Entry(
            number: 3, hash: KeyringObject.hash(try await stored(commit(3))), ring: 3)
        let (known, new) = (try anna.start(newest: newest), try anna.start())
        let author = try #require(ben.memory.author(at: 0))
        let bens = HistorySigner(member: bensID, keys: author.keys, ring: try ben.memory.chain().pin)
        let keys = try ben.memory.keys()
        func forge(_ number: UInt64, predecessor: Data) async throws {
            let (key, text) = (SealedHistory.snapshotKey(number), Array("nothing".utf8))
            let endorsement = try Endorsement(
                of: SHA256.hash(data: text), key: key, predecessor: predecessor, by: bens, container: keys.container)
            try await SealedStore(base, keys: keys).put(key, .bytes(endorsement.bytes + text))
        }
        func refusal(_ number: UInt64, _ store: SealedStore) async -> String? {
            await reason { _ = try await read(SealedHistory.snapshotKey(number), in: store) }
        }
        // Of the next commit, which is said to be trimmed.
        try await forge(4, predecessor: Data(count: 32))
        try await SealedStore(base, keys: keys).put(commit(4), .bytes([]))
        for store in [here, known, new] {
            #expect(await refusal(4, store) == "commit 4 was trimmed, although the one before it was not")
        }
        try await base.delete(commit(4))
        // Of one that is there, and of which everybody sees the hash.
        try await forge(3, predecessor: KeyringObject.hash(try await stored(commit(3))))
        for store in [here, known, new, try anna.start()] {
            #expect(await refusal(3, store) == "it was written under keyring 2, although keyring 3 was known before")
        }
        // Of one from before: it is not needed.
        try await forge(2, predecessor: KeyringObject.hash(try await stored(commit(2))))
        for store in [here, known, new, try anna.start()] {
            #expect(await refusal(2, store) == "it is signed by a device that was revoked, and the log has all commits")
        }
        // All is said to be trimmed: who knows a commit knows under which keyring it was written.
        try await forge(4, predecessor: Data(count: 32))
        for number in 1...4 as ClosedRange<UInt64> {
            try await SealedStore(base, keys: keys).put(commit(number), .bytes([]))
        }
        for store in [here, known] {
            #expect(await refusal(4, store) == "it was written under keyring 2, although keyring 3 was known before")
        }
        // A new device can only know that the history ends before the revocation, as after a snapshot that Ben made then.
        #expect(await refusal(4, try anna.start()) == nil)
    }

    @Test func `a description that a revoked device has changed is refused by who knows another`() async throws {
        let anna = try await anna()
        let ben = try await enrolled("ben", by: anna)
        let key = SealingKeys.description
        let here = try anna.start()
        let before = try await read(key, in: here)
        var container = try await open(anna)
        let bensID = try #require(ben.memory.device)
        try await container.change(time: 3) { change throws(KeyringError) in try change.revoke(bensID) }
        // So that a keyring with the revocation is known.
        try await write(1, "one", in: container.store)
        #expect(try await read(commit(1), in: here) == "one")
        let author = try #require(ben.memory.author(at: 0))
        let bens = HistorySigner(member: bensID, keys: author.keys, ring: try ben.memory.chain().pin)
        let (keys, text) = (try ben.memory.keys(), Array("forged".utf8))
        let endorsement = try Endorsement(
            of: SHA256.hash(data: text), key: key, predecessor: Endorsement.noPredecessor, by: bens,
            container: keys.container)
        try await SealedStore(base, keys: keys).put(key, .bytes(endorsement.bytes + text))
        let known = SeenDescription(hash: Data(SHA256.hash(data: Array(before.utf8))), number: 0)
        let later = try anna.start(description: known)
        #expect(try await read(commit(1), in: later) == "one")
        for store in [here, later] {
            #expect(
                await reason { _ = try await read(key, in: store) }
                    == "it was changed by a device that was revoked; if that is right, set the quota again on a device that "
                    + "took it over before: dewpoint container quota")
        }
        // What a device that was revoked has written before is read as ever.
        try await SealedStore(base, keys: keys).delete(key)
        try await here.put(key, .bytes(Array("of anna".utf8)))
        #expect(try await read(key, in: later) == "of anna")
    }

    // MARK: With the store

    /// A container of Anna and Ben with two commits, of which he was revoked before the third.
    private struct Revocation {
        let anna: HistoryDevice
        let here: SealedStore
        let ben: HistorySigner
        let keys: SealingKeys
    }

    private func revocation(commits: UInt64 = 2) async throws -> Revocation {
        let anna = try await anna()
        let ben = try await enrolled("ben", by: anna)
        let here = try anna.start()
        for number in 1...commits { try await write(number, "\(number)", in: here) }
        var container = try await open(anna)
        let bensID = try #require(ben.memory.device)
        try await container.change(time: 3) { change throws(KeyringError) in try change.revoke(bensID) }
        try await write(commits + 1, "after", in: container.store)
        let author = try #require(ben.memory.author(at: 0))
        return Revocation(
            anna: anna, here: here,
            ben: HistorySigner(member: bensID, keys: author.keys, ring: try ben.memory.chain().pin),
            keys: try ben.memory.keys())
    }

    /// Puts what Ben makes up into the store.
    private func forge(_ key: String, _ text: String, after predecessor: Data, by revocation: Revocation) async throws {
        let endorsement = try Endorsement(
            of: SHA256.hash(data: Array(text.utf8)), key: key, predecessor: predecessor, by: revocation.ben,
            container: revocation.keys.container)
        try await SealedStore(base, keys: revocation.keys).put(key, .bytes(endorsement.bytes + Array(text.utf8)))
    }

    private func trim(_ numbers: ClosedRange<UInt64>, with keys: SealingKeys) async throws {
        for number in numbers { try await SealedStore(base, keys: keys).put(commit(number), .bytes([])) }
    }

    private let snapshot = SealedHistory.snapshotKey(2)
    private let beganWithIt =
        "this device began with a snapshot of a device that was revoked before this commit, which the store did not show "
        + "then: it may be made up; this device goes on from the next snapshot of one that may write, which is made "
        + "soon, while that is mounted"

    @Test func `a snapshot over commits that a revoked device has emptied is refused, once it is known to be revoked`()
        async throws
    {
        let revocation = try await revocation()
        let first = SealedHistory.Entry(number: 1, hash: KeyringObject.hash(try await stored(commit(1))), ring: 2)
        let hash = KeyringObject.hash(try await stored(commit(2)))
        try await trim(1...2, with: revocation.keys)
        try await forge(snapshot, "made up", after: hash, by: revocation)
        for store in [revocation.here, try revocation.anna.start(), try revocation.anna.start(newest: first)] {
            #expect(
                await reason { _ = try await read(snapshot, in: store) }
                    == "it is signed by a device that was revoked before commit 3; a device that may write makes another one "
                    + "soon, while it is mounted")
            #expect(try await store.isSignedByFormerMember(snapshot))
        }
        // Where something of its own stands behind the revoking commit as well.
        try await write(4, "later", in: revocation.here)
        try await forge(commit(4), "old", after: KeyringObject.hash(try await stored(commit(3))), by: revocation)
        #expect(await reason { _ = try await read(snapshot, in: try revocation.anna.start()) } != nil)
        // Anna's own has what she has.
        try await base.delete(snapshot)
        try await revocation.here.put(snapshot, .bytes(Array("true".utf8)))
        let new = try revocation.anna.start()
        #expect(try await read(snapshot, in: new) == "true")
        #expect(try await read(commit(3), in: new) == "after")
        #expect(try await !new.isSignedByFormerMember(snapshot))
    }

    @Test(arguments: ["beyond the end", "a hole", "garbage", "behind another snapshot"])
    func `disorder in the log does not make a snapshot of a revoked device believed`(kind: String) async throws {
        let revocation = try await revocation()
        try await write(4, "later", in: revocation.here)
        let hash = KeyringObject.hash(try await stored(commit(2)))
        var number: UInt64 = 2
        switch kind {
        case "beyond the end":
            try await trim(1...1, with: revocation.keys)
            number = 20
        case "a hole":
            try await trim(1...2, with: revocation.keys)
            try await base.delete(commit(3))
        case "garbage":
            try await trim(1...2, with: revocation.keys)
            for number in 3...4 as ClosedRange<UInt64> { try await base.put(commit(number), .bytes([1])) }
        default:
            // Of Anna, of a commit that is emptied, with one of Ben's behind it.
            let after = KeyringObject.hash(try await stored(commit(3)))
            try await revocation.here.put(SealedHistory.snapshotKey(3), .bytes(Array("true".utf8)))
            try await trim(1...3, with: revocation.keys)
            try await forge(commit(4), "made up", after: after, by: revocation)
            let notebook = MemoryNotebook()
            let new = try revocation.anna.start(notebook)
            #expect(try await read(SealedHistory.snapshotKey(3), in: new) == "true")
            new.goOn(fromSnapshot: 3)
            for store in [new, try revocation.anna.start(notebook)] {
                #expect(
                    await reason { _ = try await read(commit(4), in: store) }
                        == "it is signed by a device that was revoked when the snapshot before it was made, under keyring 3"
                )
            }
            return
        }
        let key = SealedHistory.snapshotKey(number)
        try await forge(key, "made up", after: hash, by: revocation)
        #expect(
            await reason { _ = try await read(key, in: try revocation.anna.start()) }?.hasPrefix(
                "it is signed by a device that was revoked") == true)
    }

    @Test func `a store that keeps the revoking keyring back until a made-up snapshot was taken is found out`()
        async throws
    {
        let revocation = try await revocation()
        let hash = KeyringObject.hash(try await stored(commit(2)))
        try await trim(1...2, with: revocation.keys)
        try await forge(snapshot, "made up", after: hash, by: revocation)
        let ring = KeyringStore(store: base, container: revocation.anna.memory.container).key(3)
        let (hiddenRing, hidden) = (try await stored(ring), try await stored(commit(3)))
        try await base.delete(ring)
        try await base.delete(commit(3))
        let new = try revocation.anna.start()
        #expect(try await read(snapshot, in: new) == "made up")
        new.goOn(fromSnapshot: 2)
        try await base.put(ring, .bytes(hiddenRing))
        try await base.put(commit(3), .bytes(hidden))
        #expect(await reason { _ = try await read(commit(3), in: new) } == beganWithIt)
    }

    @Test func `a snapshot that is only looked at takes nothing back of what another one has told`() {
        var entries = HistoryEntries(newest: nil)
        for (number, ring) in [(7, 5), (3, 2), (9, 4)] as [(UInt64, Int)] {
            entries.noteSnapshot(number, by: UUID(), under: ring)
            _ = entries.add(SealedHistory.Entry(number: number, hash: Data(), ring: 0))
        }
        for entries in [entries, HistoryEntries(newest: entries.remembered)] {
            #expect([3, 4, 7, 8, 9, 10].map { entries.floor(before: $0) } == [nil, 2, 2, 5, 5, 5])
        }
        for number in 10...30 as ClosedRange<UInt64> { entries.noteSnapshot(number, by: UUID(), under: 6) }
        #expect(entries.remembered?.floors?.map(\.number) == Array(23...30))
    }

    @Test func `a store that keeps the revoking commit back until a made-up snapshot was taken is found out`()
        async throws
    {
        let revocation = try await revocation()
        let hash = KeyringObject.hash(try await stored(commit(2)))
        let hidden = try await stored(commit(3))
        try await trim(1...2, with: revocation.keys)
        try await base.delete(commit(3))
        try await forge(snapshot, "made up", after: hash, by: revocation)
        let notebook = MemoryNotebook()
        let new = try revocation.anna.start(notebook)
        #expect(try await read(snapshot, in: new) == "made up")
        new.goOn(fromSnapshot: 2)
        try await base.put(commit(3), .bytes(hidden))
        for store in [new, try revocation.anna.start(notebook)] {
            #expect(await reason { _ = try await read(commit(3), in: store) } == beganWithIt)
        }
        // Anna's next snapshot, which has what she has, is what to go on from.
        let later = SealedHistory.snapshotKey(3)
        try await revocation.here.put(later, .bytes(Array("true".utf8)))
        #expect(try await read(later, in: new) == "true")
        // To have looked at it is not to have gone on from it.
        #expect(await reason { _ = try await read(commit(3), in: new) } == beganWithIt)
        new.goOn(fromSnapshot: 3)
        #expect(try await read(commit(3), in: new) == "after")
        try await write(4, "four", in: revocation.here)
        #expect(try await read(commit(4), in: new) == "four")
    }

    @Test func `who goes on by himself from a snapshot of a revoked device is followed by others`() async throws {
        let revocation = try await revocation()
        let hash = KeyringObject.hash(try await stored(commit(2)))
        try await trim(1...2, with: revocation.keys)
        try await base.delete(commit(3))
        // That is the only device that there was: it has made the snapshot when it was a member.
        try await forge(snapshot, "tree", after: hash, by: revocation)
        let notebook = MemoryNotebook()
        let new = try revocation.anna.start(notebook)
        #expect(try await read(snapshot, in: new) == "tree")
        new.goOn(fromSnapshot: 2)
        try await write(3, "own", in: new)
        try await write(4, "next", in: try revocation.anna.start(notebook))
        #expect(try await read(commit(4), in: new) == "next")
    }

    @Test(arguments: [[3, 4], [4, 3]] as [[UInt64]])
    func `an old commit that was exchanged is named whichever is read first, and the true one is taken again`(
        order: [UInt64]
    ) async throws {
        let revocation = try await revocation(commits: 5)
        let newest = SealedHistory.Entry(number: 6, hash: KeyringObject.hash(try await stored(commit(6))), ring: 3)
        let kept = try await stored(commit(3))
        try await forge(commit(3), "other", after: KeyringObject.hash(try await stored(commit(2))), by: revocation)
        let store = try revocation.anna.start(newest: newest)
        #expect(try await read(commit(order[0]), in: store) == (order[0] == 3 ? "other" : "4"))
        #expect(
            await reason { _ = try await read(commit(order[1]), in: store) }?.hasPrefix(
                "the store shows another commit 3 than this device has seen") == true)
        try await base.put(commit(3), .bytes(kept))
        for number in 1...5 as ClosedRange<UInt64> {
            #expect(try await read(commit(number), in: store) == "\(number)")
        }
    }

    @Test func `a description is not changed back, and is taken as it was changed last`() async throws {
        let anna = try await anna()
        let key = SealingKeys.description
        let notebook = MemoryNotebook()
        let here = try anna.start(notebook)
        _ = try await read(key, in: here)
        let object = KeyringStore.directory(of: anna.memory.container) + "container"
        let old = try await stored(object)
        try await here.put(key, .bytes(Array("one".utf8)))
        #expect(try await read(key, in: here) == "one")
        let middle = try await stored(object)
        try await here.put(key, .bytes(Array("two".utf8)))
        #expect(try await read(key, in: here) == "two")
        for bytes in [old, middle] {
            try await base.put(object, .bytes(bytes))
            for store in [here, try anna.start(notebook)] {
                #expect(
                    await reason { _ = try await read(key, in: store) }
                        == "it is an older one than this device has seen; restore the newest one, or set the quota again on "
                        + "this device: dewpoint container quota")
            }
        }
        // As it says.
        try await here.put(key, .bytes(Array("three".utf8)))
        #expect(try await read(key, in: try anna.start(notebook)) == "three")
        // A device that has only seen the first one.
        #expect(try await read(key, in: try anna.start()) == "three")
    }
}
