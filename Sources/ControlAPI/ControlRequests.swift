/// The body of a request about one item.
package struct PathRequest: Codable, Hashable, Sendable {
    /// Below the container's root, without a leading `/`; empty for the root.
    package var path: String

    package init(path: String) { self.path = path }
}

/// The body of ``ControlRoute/download``.
package struct DownloadRequest: Codable, Hashable, Sendable {
    package var path: String
    /// Whether the answer comes only when the bytes are here.
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

/// The body of ``ControlRoute/sync``.
package struct SyncRequest: Codable, Hashable, Sendable {
    /// Whether the answer comes only when nothing is left to upload or apply.
    package var wait: Bool

    package init(wait: Bool) { self.wait = wait }
}

/// The body of ``ControlRoute/unmount``.
package struct UnmountRequest: Codable, Hashable, Sendable {
    /// Whether the mount goes also when files are open there: they give errors from then on.
    package var lazily: Bool

    package init(lazily: Bool) { self.lazily = lazily }
}
