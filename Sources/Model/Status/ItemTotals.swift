/// Counts and sizes of the items of a container, or of an item and everything below it.
package struct ItemTotals: Hashable, Sendable, Codable {
    /// Files, directories and links, each once for every name.
    package var itemCount = 0
    /// The items whose bytes are local, and those without bytes.
    package var localItemCount = 0
    /// Files, each once however many names it has.
    package var fileCount = 0
    package var localFileCount = 0
    /// The length of all files.
    package var byteCount: Int64 = 0
    /// The length of the local files.
    package var localByteCount: Int64 = 0
    package var uploads = TransferTotals()
    package var downloads = TransferTotals()
    /// The items with conflict versions that wait to be resolved.
    package var conflictCount = 0
    /// The items whose bytes cannot be transferred.
    package var errorCount = 0
    /// Whether counting was ended by its time limit: then everything is at least as much.
    package var isPartial = false

    package init() {}

    /// Whether nothing of it is on this device alone.
    package var isUploaded: Bool { uploads.pendingCount == 0 && !isPartial }
}

/// The transfers in one direction, in sum.
package struct TransferTotals: Hashable, Sendable, Codable {
    /// How many are not done: those that wait and those under way. For uploads, changes of any kind, deletions included.
    package var pendingCount = 0
    /// The length of the files among them whose bytes are to be transferred.
    package var pendingByteCount: Int64 = 0
    /// How many are under way.
    package var activeCount = 0
    /// The length of the files under way, and how much of that is done.
    package var activeByteCount: Int64 = 0
    package var activeDoneByteCount: Int64 = 0
    /// The speed of those under way, of the last seconds; `nil` without any.
    package var bytesPerSecond: Double?
    /// How long all of them take at that speed; `nil` when that is unknown.
    package var secondsLeft: Double?

    package init() {}

    /// Derives ``secondsLeft`` from the other fields.
    package mutating func estimate() {
        let rest = pendingByteCount - activeDoneByteCount
        secondsLeft = bytesPerSecond.flatMap { $0 >= 1 && rest > 0 ? Double(rest) / $0 : nil }
    }
}

/// Whether the store answers, as far as the last requests tell.
package enum StoreState: String, Hashable, Sendable, Codable, CaseIterable {
    case reachable
    /// The last request was not answered.
    case failing
    /// It has not answered for as long as a reader waits.
    case unreachable
}
