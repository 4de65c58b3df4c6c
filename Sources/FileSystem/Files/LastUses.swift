import Model
import Synchronization

/// The times of opens and closes not yet recorded in the index.
///
/// Reads are not seen where the kernel reads the backing file itself, and an index write for each open would cost more
/// than the open. A crash loses the uses of the last half minute.
final class LastUses: Sendable {
    /// How many files are remembered at most; further files keep their recorded time.
    static let countLimit = 65536

    private let uses = Mutex<[InodeNumber: Timestamp]>([:])

    /// - Returns: Whether to record the uses in the index now, however recently that was done.
    func note(_ inode: InodeNumber, at time: Timestamp) -> Bool {
        uses.withLock { uses in
            if uses.count < Self.countLimit || uses[inode] != nil { uses[inode] = time }
            return Self.areMany(uses)
        }
    }

    /// The last use that is not recorded yet.
    func time(of inode: InodeNumber) -> Timestamp? { uses.withLock { $0[inode] } }

    var areMany: Bool { uses.withLock { Self.areMany($0) } }

    private static func areMany(_ uses: [InodeNumber: Timestamp]) -> Bool { uses.count > countLimit / 2 }

    func take() -> [InodeNumber: Timestamp] {
        uses.withLock { uses in
            defer { uses = [:] }
            return uses
        }
    }
}
