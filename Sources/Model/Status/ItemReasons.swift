/// Why an item is as it is, in sentences: what `dewpoint why` prints.
package struct ItemReasons: Hashable, Sendable, Codable {
    /// Relative to the container's root; empty for the root.
    package var path: String
    package var kind: ItemKind
    /// Always true for an item without bytes.
    package var isLocal: Bool
    /// The last download of its bytes; `nil` when they were made here, or never requested.
    package var download: DownloadOrigin?
    /// Why its bytes are local.
    package var localBecause: [String]
    /// Why it cannot be evicted; empty when it can, and for what is not local.
    package var staysBecause: [String]
    /// The programs that have it open, hold a turn, lock or claim on it, or present it.
    package var heldBy: [String]
    /// What it waits for: an upload, a download, a decision, another program.
    package var waitsFor: [String]

    package init(
        path: String, kind: ItemKind, isLocal: Bool, download: DownloadOrigin?, localBecause: [String] = [],
        staysBecause: [String] = [], heldBy: [String] = [], waitsFor: [String] = []
    ) {
        self.path = path
        self.kind = kind
        self.isLocal = isLocal
        self.download = download
        self.localBecause = localBecause
        self.staysBecause = staysBecause
        self.heldBy = heldBy
        self.waitsFor = waitsFor
    }
}

/// Who caused the last download of a file, and when.
package struct DownloadOrigin: Hashable, Sendable, Codable {
    /// `read by tumblerd(812)`, `pinned`, …
    package var cause: String
    /// RFC 3339.
    package var requested: String
    /// RFC 3339; `nil` until the bytes are local.
    package var arrived: String?

    package init(cause: String, requested: String, arrived: String?) {
        self.cause = cause
        self.requested = requested
        self.arrived = arrived
    }
}
