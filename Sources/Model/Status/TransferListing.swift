/// The transfers of a container: those under way and those that wait.
package struct TransferListing: Hashable, Sendable, Codable {
    /// The most waiting transfers that are listed in each direction; ``uploads`` and ``downloads`` count all.
    package static let waitingLimit = 500

    package var active: [Transfer]
    /// Downloads in no particular order, uploads in that of the changes.
    package var waiting: [Transfer]
    package var uploads: TransferTotals
    package var downloads: TransferTotals

    package init(active: [Transfer], waiting: [Transfer], uploads: TransferTotals, downloads: TransferTotals) {
        self.active = active
        self.waiting = waiting
        self.uploads = uploads
        self.downloads = downloads
    }
}

/// One item that is being uploaded or downloaded, or waits for it.
package struct Transfer: Hashable, Sendable, Codable {
    package enum Direction: String, Hashable, Sendable, Codable { case up, down }

    /// Relative to the container's root; of a deleted item, where it was.
    package var path: String
    package var direction: Direction
    /// Whether the deletion of the item is to be uploaded.
    package var isDeletion: Bool
    package var bytesDone: Int64
    /// The length of the file; 0 where no bytes are transferred, only a name or attributes.
    package var byteCount: Int64
    /// The speed of the last seconds; `nil` while it waits.
    package var bytesPerSecond: Double?
    /// How long it takes at that speed; `nil` when that is unknown.
    package var secondsLeft: Double?
    /// Why it waits, in a sentence; `nil` when only others are before it.
    package var reason: String?

    package init(
        path: String, direction: Direction, isDeletion: Bool = false, bytesDone: Int64 = 0, byteCount: Int64,
        bytesPerSecond: Double? = nil, reason: String? = nil
    ) {
        self.path = path
        self.direction = direction
        self.isDeletion = isDeletion
        self.bytesDone = bytesDone
        self.byteCount = byteCount
        self.bytesPerSecond = bytesPerSecond
        let rest = byteCount - bytesDone
        secondsLeft = bytesPerSecond.flatMap { $0 >= 1 && rest > 0 ? Double(rest) / $0 : nil }
        self.reason = reason
    }
}
