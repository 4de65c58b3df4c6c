import Glibc

/// How a write is synced to the disk before it is answered.
///
/// The kernel leaves the sync of writes that bypass its page cache to the file system, and sends with each write the
/// flags of the open file combined with those of pwritev2(2). Related: open(2), `O_SYNC` and `O_DSYNC`.
package enum WriteSync: Sendable {
    case none
    /// As with fdatasync(2).
    case bytes
    /// As with fsync(2).
    case all

    package init(flags: Int32) {
        // O_SYNC includes the bit of O_DSYNC.
        self = flags & O_SYNC == O_SYNC ? .all : flags & O_DSYNC != 0 ? .bytes : .none
    }

    /// `nil` when nothing must be synced.
    var bytesOnly: Bool? {
        switch self {
        case .none: nil
        case .bytes: true
        case .all: false
        }
    }
}
