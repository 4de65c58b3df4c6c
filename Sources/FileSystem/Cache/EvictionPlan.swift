import Model

/// Which files make room: a pure decision. The least recently used go first, and no more than is needed.
struct EvictionPlan: Equatable {
    struct Candidate {
        var inode: InodeNumber
        /// What it takes on this disk.
        var byteCount: Int64
        var used: Timestamp
        /// `nil` for one that may go.
        var obstacle: EvictionObstacle?
    }

    private(set) var inodes: [InodeNumber] = []
    private(set) var byteCount: Int64 = 0
    /// Why files stay although their turn had come.
    private(set) var blockedBy: [EvictionObstacle: Int] = [:]

    /// - Parameters:
    ///   - excess: How many bytes must go.
    ///   - countLimit: How many files may go.
    init(among candidates: [Candidate], excess: Int64, countLimit: Int) {
        let inTurn = candidates.sorted { ($0.used, $0.inode.rawValue) < ($1.used, $1.inode.rawValue) }
        for candidate in inTurn {
            guard byteCount < excess, inodes.count < countLimit else { return }
            // What takes nothing makes no room.
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
