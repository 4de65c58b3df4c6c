package import Model

/// The body of a request about one item.
package struct PathRequest: Codable, Hashable, Sendable {
    /// Below the container's root, without a leading `/`; empty for the root.
    package var path: String

    package init(path: String) { self.path = path }
}

/// The body of ``ControlRoute/evict``.
package struct EvictRequest: Codable, Hashable, Sendable {
    package var path: String
    /// Whether to answer with an ``EvictionReport``, also when files stay; `nil` is `false`.
    package var report: Bool?

    package init(path: String, report: Bool? = nil) {
        self.path = path
        self.report = report
    }
}

/// The body of ``ControlRoute/resolve``.
package struct ResolveRequest: Codable, Hashable, Sendable {
    package var path: String
    /// `current`, `newest` or the id of a conflict version.
    package var keep: String

    package init(path: String, keep: String) {
        self.path = path
        self.keep = keep
    }
}

/// The body of ``ControlRoute/restoreVersion``, ``ControlRoute/discardVersion`` and
/// ``ControlRoute/markVersionResolved``.
package struct RestoreVersionRequest: Codable, Hashable, Sendable {
    package var path: String
    /// The id of an ``ItemVersion``.
    package var id: String

    package init(path: String, id: String) {
        self.path = path
        self.id = id
    }
}

/// The body of a POST to ``ControlRoute/shares``.
package struct ShareRequest: Codable, Hashable, Sendable {
    package var path: String
    /// How long the link lasts: 1 to ``SharedFile/lifetimeLimitSeconds``.
    package var seconds: Int64

    package init(path: String, seconds: Int64) {
        self.path = path
        self.seconds = seconds
    }
}

/// The body of ``ControlRoute/revokeShare``.
package struct RevokeShareRequest: Codable, Hashable, Sendable {
    /// The id of a ``SharedFile``.
    package var id: String

    package init(id: String) { self.id = id }
}

/// The body of ``ControlRoute/restoreDeleted``.
package struct RestoreDeletedRequest: Codable, Hashable, Sendable {
    package var item: ItemID

    package init(item: ItemID) { self.item = item }
}

/// The body of ``ControlRoute/download``.
package struct DownloadRequest: Codable, Hashable, Sendable {
    package var path: String
    /// Whether to answer only once the bytes are local.
    package var wait: Bool

    package init(path: String, wait: Bool) {
        self.path = path
        self.wait = wait
    }
}

/// The body of ``ControlRoute/pin``.
package struct PinRequest: Codable, Hashable, Sendable {
    package var path: String
    package var pinned: Bool

    package init(path: String, pinned: Bool) {
        self.path = path
        self.pinned = pinned
    }
}

/// The body of ``ControlRoute/pause``.
package struct PauseRequest: Codable, Hashable, Sendable {
    package var path: String
    package var paused: Bool

    package init(path: String, paused: Bool) {
        self.path = path
        self.paused = paused
    }
}

/// The body of ``ControlRoute/answerDeletions``.
package struct DeletionsRequest: Codable, Hashable, Sendable {
    /// Whether to restore the items instead of deleting them everywhere.
    package var discard: Bool

    package init(discard: Bool) { self.discard = discard }
}

/// The body of ``ControlRoute/sync``.
package struct SyncRequest: Codable, Hashable, Sendable {
    /// Whether to answer only once nothing is left to upload or apply.
    package var wait: Bool

    package init(wait: Bool) { self.wait = wait }
}

/// The body of ``ControlRoute/check``.
package struct CheckRequest: Codable, Hashable, Sendable {
    /// Whether to download and verify every byte that the files need; `nil` for no.
    package var bytes: Bool?

    package init(bytes: Bool?) { self.bytes = bytes }
}

/// The body of ``ControlRoute/gc``.
package struct GarbageRequest: Codable, Hashable, Sendable {
    /// How long condemned objects stay readable, in seconds; `nil` for 7 days.
    package var graceSeconds: Int64?
    /// Whether to report only what would be done.
    package var dryRun: Bool

    package init(graceSeconds: Int64?, dryRun: Bool) {
        self.graceSeconds = graceSeconds
        self.dryRun = dryRun
    }

    /// The longest grace period: 10 years.
    package static let graceLimitSeconds: Int64 = 10 * 365 * 24 * 60 * 60
}

/// The body of ``ControlRoute/unmount``.
package struct UnmountRequest: Codable, Hashable, Sendable {
    /// Whether to unmount even if files are open: using them fails from then on.
    package var lazily: Bool

    package init(lazily: Bool) { self.lazily = lazily }
}

/// The body of a POST to ``ControlRoute/link``.
package struct LinkRequest: Codable, Hashable, Sendable {
    /// `nil` for the conditions of the mount's options.
    package var link: LinkSettings?

    package init(link: LinkSettings?) { self.link = link }
}

/// The body of a POST to ``ControlRoute/logLevel``.
package struct LogLevelRequest: Codable, Hashable, Sendable {
    /// `trace` to `critical`, or the number of syslog(3), 0 to 7.
    package var level: String

    package init(level: String) { self.level = level }

    /// The names of all levels, least severe first.
    package static let names = ["trace", "debug", "info", "notice", "warning", "error", "critical"]

    /// Whether a text is a level: one of ``names``, or 0 to 7.
    package static func isLevel(_ text: String) -> Bool {
        names.contains(text.lowercased()) || text.count == 1 && Int(text).map { 0...7 ~= $0 } ?? false
    }
}
