package import Foundation

extension SealedHistory {
    /// A commit that was verified.
    package struct Entry: Codable, Hashable, Sendable {
        package let number: UInt64
        /// The SHA-256 of its sealed object.
        package let hash: Data
        /// The newest version of the keyring under which it, or one before it, was written.
        var ring: Int
        /// The hash of the commit before it; `nil` where only a snapshot has told of this one.
        var predecessor: Data?
        /// What was doubtful of the history when it was seen.
        var doubt: Doubt?
    }

    /// This device began with a snapshot of somebody who was revoked by then.
    struct Doubt: Codable, Hashable, Sendable {
        let signer: UUID
        /// The commit of a later snapshot, by somebody who may write: the commits behind it do not follow from the first one.
        var end: UInt64?
    }
}

/// The commits of a history that a device has seen, and which of them follow from each other.
struct HistoryEntries: Sendable {
    typealias Entry = SealedHistory.Entry

    /// How many commits are remembered of those that lead to the newest one: 1024.
    private static let linkedLimit = 1024
    /// How many others are, which were read by themselves: 100,000, of some 150 bytes.
    private static let looseLimit = 100_000

    /// The newest commit, and those before it that are joined to it by hashes.
    private var linked: [UInt64: Entry]
    /// Others: who has signed them is known, and not whether they are those of this history.
    private var loose: [UInt64: Entry] = [:]
    private var doubt: SealedHistory.Doubt?
    /// The commit of a snapshot that is being verified, which is read for that.
    private var verified: UInt64?

    init(newest: Entry?) {
        linked = newest.map { [$0.number: $0] } ?? [:]
        doubt = newest?.doubt
    }

    /// The number of the newest commit; 0 when none was seen.
    var newest: UInt64 { linked.keys.max() ?? 0 }

    subscript(_ number: UInt64) -> Entry? { linked[number] ?? loose[number] }

    /// The newest version of the keyring under which one of the first `number` commits is known to have been written.
    func ring(upTo number: UInt64) -> Int {
        // Mostly the one before.
        if let entry = linked[number] { return entry.ring }
        return linked.values.filter { $0.number <= number }.max { $0.number < $1.number }?.ring ?? 0
    }

    /// Finds what contradicts a commit, or what a snapshot says of one. What is loose is not better known than that: it is
    /// forgotten, and what the store shows next is judged anew.
    ///
    /// - Returns: The commit of which the store has shown two.
    mutating func contradiction(to entry: Entry) -> UInt64? {
        let (before, number, after) = (entry.number &- 1, entry.number, entry.number + 1)
        if let known = linked[number], known.hash != entry.hash { return number }
        if let expected = entry.predecessor, let known = linked[before], known.hash != expected { return before }
        if let expected = linked[after]?.predecessor, expected != entry.hash { return number }
        if let known = loose[number], known.hash != entry.hash { return forget(number, number) }
        if let expected = entry.predecessor, let known = loose[before], known.hash != expected {
            return forget(before, before)
        }
        if let expected = loose[after]?.predecessor, expected != entry.hash { return forget(after, number) }
        return nil
    }

    private mutating func forget(_ number: UInt64, _ result: UInt64) -> UInt64 {
        loose[number] = nil
        return result
    }

    /// - Returns: The entry as it is to be remembered at the next start, when it is the newest one.
    mutating func add(_ entry: Entry) -> Entry? {
        let (number, newest) = (entry.number, newest)
        guard number > newest || linked[number] != nil || linked[number &- 1] != nil || linked[number + 1] != nil else {
            if loose.count < Self.looseLimit { loose[number] = entry }
            return nil
        }
        var entry = entry
        entry.ring = max(entry.ring, ring(upTo: number))
        entry.predecessor = entry.predecessor ?? linked[number]?.predecessor
        entry.doubt = doubt
        loose[number] = nil
        linked[number] = entry
        if linked.count > Self.linkedLimit, let oldest = linked.keys.min() { linked[oldest] = nil }
        return number > newest ? entry : nil
    }

    // MARK: Doubt

    /// - Returns: Who signed the snapshot from which a commit would follow, if he was revoked when this device began with it.
    func doubtfulSigner(before number: UInt64) -> UUID? {
        guard let doubt, number != verified, doubt.end.map({ number <= $0 }) ?? true else { return nil }
        return doubt.signer
    }

    /// - Parameter isFormer: Whether it was signed by somebody who is revoked.
    mutating func beginVerifying(_ snapshot: UInt64, isFormer: Bool) { verified = isFormer ? nil : snapshot }
    mutating func endVerifying() { verified = nil }

    /// This device begins with what a snapshot says, or goes on after one.
    ///
    /// - Returns: The newest entry, as it is to be remembered at the next start.
    mutating func begin(with snapshot: UInt64, by signer: UUID, isFormer: Bool) -> Entry? {
        if isFormer {
            doubt = SealedHistory.Doubt(signer: signer, end: nil)
        } else {
            doubt?.end = snapshot
        }
        return linked[newest].map { entry in
            var entry = entry
            entry.doubt = doubt
            return entry
        }
    }

    /// This device has gone on from what it knows by itself.
    mutating func settle() { doubt = nil }
}
