/// The disk space of downloaded bytes on a machine, and the last eviction.
package struct CacheStatus: Hashable, Sendable, Codable {
    /// The disk space of the local files.
    package var byteCount: Int64
    /// The limit for them; `nil` for no limit.
    package var byteLimit: Int64?
    /// The free space on the disk of the state.
    package var freeByteCount: Int64
    /// The space to keep free; `nil` for none.
    package var freeByteFloor: Int64?
    /// `nil` until files had to be evicted.
    package var lastRound: Round?

    package init(
        byteCount: Int64, byteLimit: Int64?, freeByteCount: Int64, freeByteFloor: Int64?, lastRound: Round?
    ) {
        self.byteCount = byteCount
        self.byteLimit = byteLimit
        self.freeByteCount = freeByteCount
        self.freeByteFloor = freeByteFloor
        self.lastRound = lastRound
    }

    /// The last time that files had to be evicted.
    package struct Round: Hashable, Sendable, Codable {
        /// RFC 3339.
        package var time: String
        package var evictedFileCount: Int
        package var evictedByteCount: Int64
        /// How many further bytes should have been evicted.
        package var missingByteCount: Int64
        /// How many files were due but not evicted, by reason: `pinned`, `open`, `changed` …
        package var blockedBy: [String: Int]
        /// Why it ended early, in a sentence.
        package var problem: String?

        package init(
            time: String, evictedFileCount: Int = 0, evictedByteCount: Int64 = 0, missingByteCount: Int64 = 0,
            blockedBy: [String: Int] = [:], problem: String? = nil
        ) {
            self.time = time
            self.evictedFileCount = evictedFileCount
            self.evictedByteCount = evictedByteCount
            self.missingByteCount = missingByteCount
            self.blockedBy = blockedBy
            self.problem = problem
        }
    }
}
