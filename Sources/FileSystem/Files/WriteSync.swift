import Glibc

/// What a write puts on the disk before it is answered.
///
/// The kernel leaves it to the file system for writes that go past its page cache, and sends with each write the flags of the open
/// file together with those of pwritev2(2). Related: open(2), `O_SYNC` and `O_DSYNC`.
package enum WriteSync: Sendable {
    case none
    /// As by fdatasync(2).
    case bytes
    /// As by fsync(2).
    case all

    package init(flags: Int32) {
        // O_SYNC contains the bit of O_DSYNC.
        self = flags & O_SYNC == O_SYNC ? .all : flags & O_DSYNC != 0 ? .bytes : .none
    }

    /// `nil` where nothing is to be synced.
    var bytesOnly: Bool? {
        switch self {
        case .none: nil
        case .bytes: true
        case .all: false
        }
    }
}
