import Model

/// Which snapshots are kept, and up to where the log can be trimmed: a pure function of their numbers and ages.
///
/// Every state of the last ``period`` can be rebuilt from what is kept: the newest snapshot that is older (``base``)
/// and the commits behind it. Deleted items can be restored for as long.
struct SnapshotRetention: Equatable {
    /// How long every state can be rebuilt: 30 days.
    static let period = Duration.seconds(30 * 24 * 60 * 60)
    /// One snapshot is kept for each period of this length, so that there always is one that grows old enough: 10 days.
    static let spacing = Duration.seconds(10 * 24 * 60 * 60)
    /// How many of the newest are kept in any case: should one be damaged, the next is used.
    static let newestCount = 2

    struct Candidate: Equatable {
        var number: CommitNumber
        /// When the commit of that number was made; `nil` when it was trimmed, which is longer ago than ``period``.
        var time: Timestamp?
    }

    /// The newest snapshot from before the period; `nil` when there is none: then the log is needed from its beginning.
    var base: CommitNumber?
    /// The snapshots that newer ones replace.
    var removed: [CommitNumber]
    /// The last commit that snapshots cover; 0 for none.
    var trimmable: CommitNumber

    /// - Parameter candidates: Ascending by number.
    init(_ candidates: [Candidate], now: Timestamp) {
        let limit = now.earlier(by: Self.period)
        let base = candidates.last { $0.time.map { $0 <= limit } ?? true }?.number
        self.base = base
        let newest = candidates.suffix(Self.newestCount).map(\.number)
        var buckets: Set<Int64> = []
        removed = candidates.filter { candidate in
            guard !newest.contains(candidate.number), candidate.number != base else { return false }
            guard candidate.number > base ?? 0, let time = candidate.time else { return true }
            // The first snapshot of its period is kept: it remains the first when others follow.
            return !buckets.insert(time.rawValue / Self.spacing.nanoseconds).inserted
        }.map(\.number)
        trimmable = newest.count == Self.newestCount ? min(base ?? 0, newest.first ?? 0) : 0
    }
}
