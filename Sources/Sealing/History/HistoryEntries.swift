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
        /// Who signed the snapshot that this device went on from, unless it has written something since.
        var base: UUID?
        /// At most ``HistoryEntries/floorLimit``, in their order.
        var floors: [Floor]?
    }

    /// The version of the keyring of a snapshot whose commit was not seen.
    struct Floor: Codable, Hashable, Sendable {
        let number: UInt64
        let ring: Int
    }
}

/// The commits of a history that a device has seen, and which of them follow from each other.
struct HistoryEntries: Sendable {
    typealias Entry = SealedHistory.Entry

    /// How many commits are remembered of those that lead to the newest one: 1024.
    private static let linkedLimit = 1024
    /// How many others are, which were read by themselves: 100,000, of some 150 bytes.
    private static let looseLimit = 100_000
    /// How many snapshots whose commit was not seen are remembered, the newest ones: 8.
    static let floorLimit = 8

    /// The newest commit, and those before it that are joined to it by hashes.
    private var linked: [UInt64: Entry]
    /// Others, of which only the signer is known: they may be of another history.
    private var loose: [UInt64: Entry] = [:]
    /// See ``SealedHistory/Entry/base``.
    private(set) var base: UUID?
    private var floors: [SealedHistory.Floor]
    /// The commit of a snapshot, by somebody who may write, that is being verified, which is read for that.
    private var verified: UInt64?
    /// The last snapshot that was read.
    private var snapshot: (number: UInt64, signer: UUID)?

    init(newest: Entry?) {
        linked = newest.map { [$0.number: $0] } ?? [:]
        base = newest?.base
        floors = newest?.floors ?? []
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

    /// - Returns: Whether it is the newest one.
    mutating func add(_ entry: Entry) -> Bool {
        let (number, newest) = (entry.number, newest)
        guard number > newest || linked[number] != nil || linked[number &- 1] != nil || linked[number + 1] != nil else {
            if loose.count < Self.looseLimit { loose[number] = entry }
            return false
        }
        var entry = entry
        entry.ring = max(entry.ring, ring(upTo: number))
        entry.predecessor = entry.predecessor ?? linked[number]?.predecessor
        loose[number] = nil
        linked[number] = entry
        if linked.count > Self.linkedLimit, let oldest = linked.keys.min() { linked[oldest] = nil }
        return number > newest
    }

    /// The newest entry, as it is to be remembered at the next start.
    var remembered: Entry? {
        linked[newest].map { entry in
            var entry = entry
            (entry.base, entry.floors) = (base, floors.isEmpty ? nil : floors)
            return entry
        }
    }

    // MARK: Snapshots

    mutating func beginVerifying(_ snapshot: UInt64?) { verified = snapshot }

    /// - Returns: Who signed what a commit follows from, if this device has not gone on from it by itself.
    func base(of commit: UInt64) -> UUID? { commit == verified ? nil : base }

    /// A snapshot was read and verified.
    mutating func noteSnapshot(_ number: UInt64, by signer: UUID, under ring: Int) {
        snapshot = (number, signer)
        // A snapshot that is only looked at, as by a check, takes nothing back of what another one has told.
        guard self[number] == nil else { return }
        floors.removeAll { $0.number == number }
        floors.append(SealedHistory.Floor(number: number, ring: ring))
        floors.sort { $0.number < $1.number }
        floors = floors.suffix(Self.floorLimit)
    }

    /// The newest version of the keyring of the snapshots that a commit comes behind.
    func floor(before number: UInt64) -> Int? { floors.filter { $0.number < number }.map(\.ring).max() }

    /// This device has applied the snapshot that it has read last.
    mutating func goOn(from number: UInt64) {
        if let snapshot, snapshot.number == number { base = snapshot.signer }
    }

    /// This device has gone on from what it knows by itself.
    mutating func settle() { base = nil }
}
