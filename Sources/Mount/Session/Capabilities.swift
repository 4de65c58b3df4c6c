import CFuse
import Model

/// The capabilities requested from the kernel when the mount begins.
enum Capabilities {
    /// The longest write, and so the longest read, in bytes; libfuse's buffers have that size.
    private static let writeLimit: UInt32 = 1 << 20
    /// How many read-ahead and asynchronous direct requests may be queued (the kernel's default is 12).
    private static let backgroundLimit: UInt32 = 64
    /// The number of them at which the kernel considers the mount congested: three quarters, as in the kernel's
    /// default.
    private static let congestionThreshold: UInt32 = 48
    /// Times are exact to the nanosecond.
    private static let timeGranularity: UInt32 = 1

    /// - `FUSE_CAP_EXPLICIT_INVAL_DATA` and not `AUTO_INVAL_DATA`: the kernel is notified of changes, so it need not
    ///   drop the page cache at every change of an mtime, which our own writes cause too.
    /// - Not `READDIRPLUS_AUTO`: a program that reads a whole directory before it looks at the entries, as find(1)
    ///   does, then gets attributes only with the first page, and requests those of every other entry separately: six
    ///   times the total time.
    /// - Not `ASYNC_DIO`: after an asynchronous direct write, the kernel keeps a page that a reader brought into the page
    ///   cache meanwhile, with the old bytes.
    /// - Not `WRITEBACK_CACHE`: each write(2) must meet the lock table.
    /// - Not `SPLICE_READ`: requests are read into memory, where writes are used from.
    /// - Not `EXPORT_SUPPORT`: old inode numbers cannot be opened by number.
    /// - Not `HANDLE_KILLPRIV`: its second version replaces it (``WireCompletion``).
    private static let wanted: UInt32 =
        bits(FUSE_CAP_ATOMIC_O_TRUNC, FUSE_CAP_FLOCK_LOCKS, FUSE_CAP_POSIX_LOCKS, FUSE_CAP_EXPLICIT_INVAL_DATA)

    /// The further capabilities of each fast path.
    private static let fastPaths: [FastPath: UInt32] = [
        .metadataCache: bits(FUSE_CAP_CACHE_SYMLINKS),
        .readdirplus: bits(FUSE_CAP_READDIRPLUS),
        .parallelRequests: bits(FUSE_CAP_PARALLEL_DIROPS, FUSE_CAP_ASYNC_READ),
        .splice: bits(FUSE_CAP_SPLICE_WRITE, FUSE_CAP_SPLICE_MOVE),
    ]

    private static func bits(_ capabilities: Int32...) -> UInt32 {
        capabilities.reduce(0) { $0 | UInt32(bitPattern: $1) }
    }

    /// - Returns: The fast paths that are wanted but not supported by the kernel.
    static func negotiate(_ connection: inout fuse_conn_info, without off: Set<FastPath>) -> [FastPath] {
        let used = fastPaths.filter { !off.contains($0.key) }
        connection.want = used.values.reduce(wanted, |) & connection.capable
        if off.contains(.readAhead) { connection.max_readahead = 0 }
        connection.max_write = min(connection.max_write, writeLimit)
        connection.max_background = backgroundLimit
        connection.congestion_threshold = congestionThreshold
        connection.time_gran = timeGranularity
        return used.filter { $0.value & connection.capable == 0 }.map(\.key)
    }
}
