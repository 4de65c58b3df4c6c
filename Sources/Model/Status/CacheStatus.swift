/// What downloaded bytes take on a machine, and what was done about it.
package struct CacheStatus: Hashable, Sendable, Codable {
    /// What the files that are here take on the disk.
    package var byteCount: Int64
    /// What they may take; `nil` for no limit.
    package var byteLimit: Int64?
    /// What is free on the disk of the state.
    package var freeByteCount: Int64
    /// What is to stay free; `nil` for nothing.
    package var freeByteFloor: Int64?
    /// `nil` while nothing had to go.
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

    /// The last time that something had to go.
    package struct Round: Hashable, Sendable, Codable {
        /// RFC 3339.
        package var time: String
        package var evictedFileCount: Int
        package var evictedByteCount: Int64
        /// How many bytes should have gone beyond that.
        package var missingByteCount: Int64
        /// How many files stayed although it was their turn, by what kept them: `pinned`, `open`, `changed` …
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
