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
    /// The rules in force, for a directory those for what is in it; `nil` from a daemon that does not send them.
    package var rules: [AppliedRule]?

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

/// A rule that is in force for an item, and where it was set.
package struct AppliedRule: Hashable, Sendable, Codable {
    package var rule: DirectoryRule
    /// As it can be set: `30d`, `500K`, `off`.
    package var value: String
    /// `attribute` of a directory, `path` for the mount option `rules` and the rules in the mounts file, `mount` for the mount
    /// option of the rule's name.
    package var source: String
    /// The directory that it was set for, relative to the container's root; empty for the root.
    package var directory: String

    package init(rule: DirectoryRule, value: String, source: String, directory: String) {
        self.rule = rule
        self.value = value
        self.source = source
        self.directory = directory
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
