/// A file with versions that wait to be resolved.
package struct ConflictedItem: Hashable, Sendable, Codable {
    /// The most that are listed at a time.
    package static let limit = 10_000

    /// Relative to the container's root.
    package var path: String
    /// The current version, then the conflict versions, newest first.
    package var versions: [ItemVersion]

    package init(path: String, versions: [ItemVersion]) {
        self.path = path
        self.versions = versions
    }
}
