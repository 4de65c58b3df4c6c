import Model

/// Which files to evict: a pure decision. The least recently used come first, and no more than needed.
struct EvictionPlan: Equatable {
    struct Candidate {
        var inode: InodeNumber
        /// Its bytes on this disk.
        var byteCount: Int64
        var used: Timestamp
        /// `nil` for a file that can be evicted.
        var obstacle: EvictionObstacle?
    }

    private(set) var inodes: [InodeNumber] = []
    private(set) var byteCount: Int64 = 0
    /// Why files were skipped, with a count for each obstacle.
    private(set) var blockedBy: [EvictionObstacle: Int] = [:]

    /// - Parameters:
    ///   - excess: How many bytes to evict.
    ///   - countLimit: The most files to evict.
    init(among candidates: [Candidate], excess: Int64, countLimit: Int) {
        let inTurn = candidates.sorted { ($0.used, $0.inode.rawValue) < ($1.used, $1.inode.rawValue) }
        for candidate in inTurn {
            guard byteCount < excess, inodes.count < countLimit else { return }
            // An empty file frees no space.
            if candidate.byteCount == 0 { continue }
            if let obstacle = candidate.obstacle {
                blockedBy[obstacle, default: 0] += 1
            } else {
                inodes.append(candidate.inode)
                byteCount += candidate.byteCount
            }
        }
    }
}
