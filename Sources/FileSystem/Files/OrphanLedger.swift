import Model

/// The orphans in the order in which they lost their names, and which of them the kernel is asked to let go.
///
/// Most are deleted within a moment. What stays is open, or is mounted on, or is held by the kernel's cache of names alone,
/// and only the kernel knows which. So when more stay than the limits say, it is asked to drop the oldest from its cache;
/// those that it keeps are in use, as on a disk.
struct OrphanLedger {
    struct Limits {
        /// Both are far more than an ordinary system has at a time.
        var count = 1024
        var byteCount: Int64 = 256 << 20
    }

    private struct Entry {
        /// `nil` while it was not asked for.
        var byteCount: Int64?
        /// Whether the kernel was asked to let it go, which is done once.
        var wasReleased = false
    }

    private let limits: Limits
    private var entries: [InodeNumber: Entry] = [:]
    /// Oldest first; also some that are gone.
    private var order: [InodeNumber] = []
    /// How many of ``entries`` were not released, and their known bytes.
    private var count = 0
    private var byteCount: Int64 = 0

    init(limits: Limits = Limits()) { self.limits = limits }

    /// - Returns: Older orphans whose size is to be told with ``measured(_:byteCount:)``: one that is deleted at once is
    ///   never asked for.
    mutating func insert(_ inode: InodeNumber) -> [InodeNumber] {
        let unmeasured = order.suffix(Self.measuredAtOnce).filter { entries[$0].map { $0.byteCount == nil } ?? false }
        if entries[inode] == nil {
            entries[inode] = Entry()
            order.append(inode)
            count += 1
        }
        if order.count > 2 * entries.count + Self.measuredAtOnce { order.removeAll { entries[$0] == nil } }
        return unmeasured
    }

    /// How many sizes are asked for at a time.
    private static let measuredAtOnce = 64

    mutating func measured(_ inode: InodeNumber, byteCount size: Int64) {
        guard let entry = entries[inode], entry.byteCount == nil else { return }
        entries[inode]?.byteCount = size
        if !entry.wasReleased { byteCount += size }
    }

    /// - Returns: Whether it was an orphan.
    mutating func remove(_ inode: InodeNumber) -> Bool {
        guard let entry = entries.removeValue(forKey: inode) else { return false }
        if !entry.wasReleased { discount(entry) }
        return true
    }

    func contains(_ inode: InodeNumber) -> Bool { entries[inode] != nil }

    /// The oldest orphans beyond the limits, each once.
    mutating func excess() -> [InodeNumber] {
        var released: [InodeNumber] = []
        for inode in order where count > limits.count || byteCount > limits.byteCount {
            guard let entry = entries[inode], !entry.wasReleased else { continue }
            entries[inode]?.wasReleased = true
            discount(entry)
            released.append(inode)
        }
        return released
    }

    private mutating func discount(_ entry: Entry) {
        count -= 1
        byteCount -= entry.byteCount ?? 0
    }
}
