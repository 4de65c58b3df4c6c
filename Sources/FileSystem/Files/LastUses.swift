import Model
import Synchronization

/// When files were opened and closed since the index was told last.
///
/// Reads are not seen where the kernel reads the backing file itself, and an index write for each open would cost more than the open.
/// What is lost in a crash are the uses of the last half minute.
final class LastUses: Sendable {
    /// How many files are remembered at most; what is beyond it counts as used when it was before.
    static let countLimit = 65536

    private let uses = Mutex<[InodeNumber: Timestamp]>([:])

    /// - Returns: Whether it is time to tell the index, however short ago it was told.
    func note(_ inode: InodeNumber, at time: Timestamp) -> Bool {
        uses.withLock { uses in
            if uses.count < Self.countLimit || uses[inode] != nil { uses[inode] = time }
            return Self.areMany(uses)
        }
    }

    var areMany: Bool { uses.withLock { Self.areMany($0) } }

    private static func areMany(_ uses: [InodeNumber: Timestamp]) -> Bool { uses.count > countLimit / 2 }

    func take() -> [InodeNumber: Timestamp] {
        uses.withLock { uses in
            defer { uses = [:] }
            return uses
        }
    }
}
