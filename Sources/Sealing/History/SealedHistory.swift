import Crypto
package import Foundation
import Remote
import Synchronization

/// The history of a sealed container, as far as this device has seen it: which commit follows which, each signed by who
/// may write.
///
/// The store can withhold the newest commits, and show two devices two histories. It can neither change one that a device
/// has seen, nor go on with it: each commit has the hash of the one before.
package final class SealedHistory: Sendable {
    /// A commit that was verified.
    package struct Entry: Codable, Hashable, Sendable {
        package let number: UInt64
        /// The SHA-256 of its sealed object.
        package let hash: Data
        /// The newest version of the keyring under which it, or one before it, was written.
        let ring: Int
    }

    /// How many commits are remembered: 1024. The ones before are verified by their signatures only.
    private static let entryLimit = 1024

    private let authority: any HistoryAuthority
    private let entries: Mutex<[UInt64: Entry]>
    /// The SHA-256 of the container's description.
    private let description: Mutex<Data?>
    private let notebook: any HistoryNotebook

    /// - Parameter notebook: Has what this device has seen before this start.
    package init(_ authority: any HistoryAuthority, notebook: any HistoryNotebook = NoNotebook()) {
        self.authority = authority
        self.notebook = notebook
        entries = Mutex(notebook.newest.map { [$0.number: $0] } ?? [:])
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

    /// Reads an object, so that it is noted here.
    typealias Reading = @Sendable (_ key: String) async throws(StoreError) -> Found

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
        return try Endorsement(
            of: hasher.finalize(), key: key, predecessor: before?.hash ?? Endorsement.noPredecessor, by: signer,
            container: authority.container)
    }

    /// What is known of a commit, which is read if this device has not seen it since it started.
    ///
    /// - Returns: `nil` when nobody can know it: in a copy of a container whose log was trimmed.
    private func entry(
        of number: UInt64, for key: String, _ read: Reading
    ) async throws(StoreError) -> Entry? {
        if let known = entry(number) { return known }
        switch try await read(Self.commitKey(number)) {
        case .present: break
        case .missing: throw StoreError(.unavailable, key: key, "the commit before it, \(number), is not there")
        // A snapshot of it has its hash.
        case .trimmed: _ = try await read(Self.snapshotKey(number))
        }
        return entry(number)
    }

    /// A commit of this device has landed.
    func note(commit number: UInt64, _ endorsement: Endorsement, hash: Data) {
        add(Entry(number: number, hash: hash, ring: endorsement.ring.number))
    }

    // MARK: Reading

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
        let signingKey = try await authority.signingKey(of: endorsement.signer, under: endorsement.ring, key: key)
        guard endorsement.isValid(of: digest, key: key, container: authority.container, signingKey: signingKey) else {
            throw StoreError(.corrupt, key: key, "its signature is wrong")
        }
        switch place {
        case .description: try verifyDescription(Data(digest), endorsement, key)
        case .snapshot(let number):
            try await verify(snapshot: number, endorsement, key, read)
            // It says nothing of commits after it: those of a device that did not know the snapshot's keyring yet are good.
            if entry(number) == nil { add(Entry(number: number, hash: endorsement.predecessor, ring: 0)) }
        case .commit(let number):
            if let known = entry(number), known.hash != hash { throw Self.fork(number, key) }
            if let before = entry(number - 1), before.hash != endorsement.predecessor {
                throw Self.fork(number - 1, key)
            }
            try verifyRing(endorsement, upTo: number - 1, key)
            add(Entry(number: number, hash: hash, ring: endorsement.ring.number))
        }
    }

    /// A snapshot takes the place of all commits up to its own: whoever could make one up would rewrite them.
    ///
    /// Who was revoked meanwhile may have made it before, or afterwards with the keys that he still has. It is refused
    /// where a commit before it tells, and where it is not needed, since the log begins with its first commit.
    private func verify(
        snapshot number: UInt64, _ endorsement: Endorsement, _ key: String, _ read: Reading
    ) async throws(StoreError) {
        if entry(number) == nil, number > 1, try await read(Self.commitKey(number)) == .trimmed,
            // Commits are trimmed from the first one on.
            try await read(Self.commitKey(number - 1)) == .present
        {
            throw StoreError(.corrupt, key: key, "commit \(number) was trimmed, although the one before it was not")
        }
        if let known = entry(number), known.hash != endorsement.predecessor { throw Self.fork(number, key) }
        try verifyRing(endorsement, upTo: number, key)
        if !authority.mayWrite(endorsement.signer), try await read(Self.commitKey(1)) == .present {
            throw StoreError(
                .corrupt, key: key, "it is signed by a device that was revoked, and the log has all commits")
        }
    }

    /// No version of the keyring is older than that of a commit before.
    private func verifyRing(
        _ endorsement: Endorsement, upTo number: UInt64, _ key: String
    ) throws(StoreError) {
        let (ring, known) = (endorsement.ring.number, ring(upTo: number))
        guard known <= ring else {
            throw StoreError(
                .corrupt, key: key, "it was written under keyring \(ring), although keyring \(known) was known before")
        }
    }

    /// What a device knows of the container's name and limits is changed by who may write now.
    private func verifyDescription(
        _ digest: Data, _ endorsement: Endorsement, _ key: String
    ) throws(StoreError) {
        let known = description.withLock { $0 }
        guard known != digest else { return }
        if known != nil, !authority.mayWrite(endorsement.signer) {
            throw StoreError(
                .corrupt, key: key,
                "it was changed by a device that was revoked; if that is right, set the quota again on a device that took it "
                    + "over before: dewpoint container quota")
        }
        description.withLock { $0 = digest }
        notebook.remember(description: digest)
    }

    private static func fork(_ number: UInt64, _ key: String) -> StoreError {
        StoreError(
            .corrupt, key: key,
            "the store shows another commit \(number) than this device has seen: somebody has rewritten the history. Nothing "
                + "of it was taken over; compare what 'dewpoint key checkpoint' says on each device")
    }

    /// The SHA-256 of the sealed object of a commit; `nil` of one that is not known any more, or not yet.
    func hash(of number: UInt64) -> Data? { entry(number)?.hash }

    private func entry(_ number: UInt64) -> Entry? { entries.withLock { $0[number] } }

    /// The newest version of the keyring under which one of the first `number` commits is known to have been written.
    private func ring(upTo number: UInt64) -> Int {
        entries.withLock { Self.ring(upTo: number, $0) }
    }

    private static func ring(upTo number: UInt64, _ entries: [UInt64: Entry]) -> Int {
        // Mostly the one before.
        if let entry = entries[number] { return entry.ring }
        return entries.values.filter { $0.number <= number }.max { $0.number < $1.number }?.ring ?? 0
    }

    private func add(_ entry: Entry) {
        let newest = entries.withLock { entries -> Entry? in
            let newest = entries.keys.max() ?? 0
            let known = Self.ring(upTo: entry.number, entries)
            let entry = Entry(number: entry.number, hash: entry.hash, ring: max(entry.ring, known))
            entries[entry.number] = entry
            if entries.count > Self.entryLimit, let oldest = entries.keys.min() { entries[oldest] = nil }
            return entry.number > newest ? entry : nil
        }
        if let newest { notebook.remember(newest) }
    }
}
