import Crypto
import Foundation
import Remote
import Synchronization

/// The history of a sealed container, as far as this device has seen it: which commit follows which, each signed by who
/// may write.
///
/// The store can withhold the newest commits, and show two devices two histories. It can neither change one that a device
/// has seen, nor go on with it: each commit has the hash of the one before.
package final class SealedHistory: Sendable {
    let authority: any HistoryAuthority
    let entries: Mutex<HistoryEntries>
    private let description: Mutex<SeenDescription?>
    private let notebook: any HistoryNotebook

    /// - Parameter notebook: Has what this device has seen before this start.
    package init(_ authority: any HistoryAuthority, notebook: any HistoryNotebook = NoNotebook()) {
        self.authority = authority
        self.notebook = notebook
        entries = Mutex(HistoryEntries(newest: notebook.newest))
        description = Mutex(notebook.description)
    }

    // MARK: Keys

    /// What a key of the history stands for.
    enum Place: Equatable {
        case commit(UInt64)
        case snapshot(UInt64)
        /// The container's own, which follows from nothing.
        case description
    }

    private static let digitCount = 20

    /// - Returns: `nil` for other objects.
    static func place(_ key: String) -> Place? {
        if key == SealingKeys.description { return .description }
        func number(below prefix: String) -> UInt64? {
            let bytes = key.utf8
            guard bytes.starts(with: prefix.utf8), bytes.count == prefix.utf8.count + digitCount else { return nil }
            return UInt64(String(key.utf8.dropFirst(prefix.utf8.count)) ?? "")
        }
        return number(below: "log/").map(Place.commit) ?? number(below: "snapshot/").map(Place.snapshot)
    }

    static func commitKey(_ number: UInt64) -> String { key("log/", number) }
    static func snapshotKey(_ number: UInt64) -> String { key("snapshot/", number) }

    private static func key(_ prefix: String, _ number: UInt64) -> String {
        let digits = String(number)
        return prefix + String(repeating: "0", count: digitCount - digits.count) + digits
    }

    // MARK: Writing

    /// What is found at a key.
    enum Found {
        case present, trimmed, missing
    }

    /// A commit in a listing.
    struct LoggedCommit: Sendable {
        let number: UInt64
        let isTrimmed: Bool
    }

    /// How the history looks into the store.
    struct Reading: Sendable {
        /// Reads an object, so that it is noted here.
        let note: @Sendable (_ key: String) async throws(StoreError) -> Found
        /// The version of the keyring under which a commit was written by somebody who might; `nil` for one that is trimmed,
        /// or cannot be read. It is not noted.
        let ring: @Sendable (_ key: String) async throws(StoreError) -> Int?
        /// The commits of the log, in their order.
        let commits: @Sendable () async throws(StoreError) -> [LoggedCommit]
    }

    /// - Returns: What goes before the bytes.
    /// - Throws: ``StoreError`` with `denied` on a device that may only read.
    func endorsement(
        of body: Body, at place: Place, key: String, read: Reading
    ) async throws(StoreError) -> Endorsement {
        let number =
            switch place {
            case .commit(let number): number &- 1
            case .snapshot(let number): number
            case .description: UInt64(0)
            }
        let isDescription = place == .description
        // First: reading it may show a newer keyring, and a commit under an older one than that before it is refused by all.
        let before = number == 0 ? nil : try await entry(of: number, for: key, read)
        guard let signer = authority.signer else {
            throw StoreError(.denied, key: key, "this device may only read the encrypted container")
        }
        guard signer.ring.number >= before?.ring ?? 0 else {
            throw StoreError(.unavailable, key: key, "a newer keyring is needed than this device has read")
        }
        var hasher = SHA256()
        try body.forEachPiece(key: key) { piece throws(StoreError) in hasher.update(bufferPointer: piece) }
        let change = isDescription ? description.withLock { $0.map { $0.number &+ 1 } } : nil
        let predecessor = change.map(SeenDescription.predecessor) ?? before?.hash ?? Endorsement.noPredecessor
        return try Endorsement(
            of: hasher.finalize(), key: key, predecessor: predecessor, by: signer, container: authority.container)
    }

    /// What is known of a commit, which is read if this device has not seen it since it started.
    ///
    /// - Returns: `nil` when nobody can know it: in a copy of a container whose log was trimmed.
    private func entry(
        of number: UInt64, for key: String, _ read: Reading
    ) async throws(StoreError) -> Entry? {
        if let known = entry(number) { return known }
        switch try await read.note(Self.commitKey(number)) {
        case .present: break
        case .missing: throw StoreError(.unavailable, key: key, "the commit before it, \(number), is not there")
        // A snapshot of it has its hash.
        case .trimmed: _ = try await read.note(Self.snapshotKey(number))
        }
        return entry(number)
    }

    /// A commit of this device has landed.
    func note(commit number: UInt64, _ endorsement: Endorsement, hash: Data) {
        entries.withLock { $0.settle() }
        add(entry(number, endorsement, hash: hash))
    }

    private func entry(_ number: UInt64, _ endorsement: Endorsement, hash: Data) -> Entry {
        Entry(number: number, hash: hash, ring: endorsement.ring.number, predecessor: endorsement.predecessor)
    }

    /// How many members were revoked.
    var formerMemberCount: Int { authority.formerMemberCount }

    func mayWrite(_ member: UUID) -> Bool { authority.mayWrite(member) }

    // MARK: Reading

    /// Verifies who has signed an object, and nothing else.
    ///
    /// - Throws: ``StoreError`` with `corrupt` when nobody has who might write.
    func verifySignature(
        _ endorsement: Endorsement, of digest: SHA256.Digest, key: String
    ) async throws(StoreError) {
        let signingKey = try await authority.signingKey(of: endorsement.signer, under: endorsement.ring, key: key)
        guard endorsement.isValid(of: digest, key: key, container: authority.container, signingKey: signingKey) else {
            throw StoreError(.corrupt, key: key, "its signature is wrong")
        }
    }

    /// Verifies an object that was read as a whole.
    ///
    /// - Parameters:
    ///   - digest: The SHA-256 of its bytes.
    ///   - hash: That of the sealed object.
    /// - Throws: ``StoreError`` with `corrupt` when nobody who may write has signed it, or it does not follow from what
    ///   this device has seen.
    func verify(
        _ endorsement: Endorsement, of digest: SHA256.Digest, hash: Data, at place: Place, key: String, read: Reading
    ) async throws(StoreError) {
        try await verifySignature(endorsement, of: digest, key: key)
        switch place {
        case .description: try verifyDescription(Data(digest), endorsement, key)
        case .snapshot(let number):
            // Who was revoked a moment ago is believed no more with what stands for all that was before.
            try await authority.renew()
            entries.withLock { $0.beginVerifying(authority.mayWrite(endorsement.signer) ? number : nil) }
            defer { entries.withLock { $0.beginVerifying(nil) } }
            try await verify(snapshot: number, endorsement, key, read)
            // It says nothing of commits after it: those of a device that did not know the snapshot's keyring yet are good.
            let entry = Entry(number: number, hash: endorsement.predecessor, ring: 0)
            entries.withLock { entries in
                entries.noteSnapshot(number, by: endorsement.signer, under: endorsement.ring.number)
                if entries[number] == nil { _ = entries.add(entry) }
            }
            remember()
        case .commit(let number):
            let entry = entry(number, endorsement, hash: hash)
            try refuseContradiction(to: entry, key)
            try verifyRing(endorsement, upTo: number - 1, key)
            try verifyBeginning(endorsement, of: number, key)
            try verifyFloor(endorsement, of: number, key)
            add(entry)
        }
    }

    func refuseContradiction(to entry: Entry, _ key: String) throws(StoreError) {
        if let number = entries.withLock({ $0.contradiction(to: entry) }) { throw Self.fork(number, key) }
    }

    /// No version of the keyring is older than that of a commit before.
    func verifyRing(
        _ endorsement: Endorsement, upTo number: UInt64, _ key: String
    ) throws(StoreError) {
        let (ring, known) = (endorsement.ring.number, entries.withLock { $0.ring(upTo: number) })
        guard known <= ring else {
            throw StoreError(
                .corrupt, key: key, "it was written under keyring \(ring), although keyring \(known) was known before")
        }
    }

    /// What a device knows of the container's name and limits is changed by who may write now, and not back again.
    private func verifyDescription(
        _ digest: Data, _ endorsement: Endorsement, _ key: String
    ) throws(StoreError) {
        let found = SeenDescription(hash: digest, number: SeenDescription.number(of: endorsement.predecessor))
        let known = description.withLock { $0 }
        guard known != found else { return }
        if let known, found.number < known.number {
            throw StoreError(
                .corrupt, key: key,
                "it is an older one than this device has seen; restore the newest one, or set the quota again on this "
                    + "device: dewpoint container quota")
        }
        if let known, known.hash != digest, !authority.mayWrite(endorsement.signer) {
            throw StoreError(
                .corrupt, key: key,
                "it was changed by a device that was revoked; if that is right, set the quota again on a device that took it "
                    + "over before: dewpoint container quota")
        }
        description.withLock { $0 = found }
        notebook.remember(description: found)
    }

    private static func fork(_ number: UInt64, _ key: String) -> StoreError {
        StoreError(
            .corrupt, key: key,
            "the store shows another commit \(number) than this device has seen: somebody has rewritten the history. Nothing "
                + "of it was taken over; compare what 'dewpoint key checkpoint' says on each device")
    }

    /// The SHA-256 of the sealed object of a commit; `nil` of one that is not known any more, or not yet.
    func hash(of number: UInt64) -> Data? { entry(number)?.hash }

    func entry(_ number: UInt64) -> Entry? { entries.withLock { $0[number] } }

    private func add(_ entry: Entry) {
        if entries.withLock({ $0.add(entry) }) { remember() }
    }

    func remember() {
        if let newest = entries.withLock({ $0.remembered }) { notebook.remember(newest) }
    }
}
