/// What an eviction of an item, and of everything below it, freed and what stayed.
package struct EvictionReport: Hashable, Sendable, Codable {
    /// The most paths in each list; the counts are complete.
    package static let pathLimit = 1000

    /// Relative to the container's root.
    package var path: String
    package var evictedCount = 0
    /// Their space on the disk.
    package var freedByteCount: Int64 = 0
    package var evicted: [String] = []
    package var stayedCount = 0
    package var stayed: [Stayed] = []
    /// Files that are not synced: they exist on this machine only, and are never evicted.
    package var unsyncedCount = 0
    /// Why the rest was not tried, in a sentence.
    package var problem: String?

    package init(path: String) { self.path = path }

    /// A file that could not be evicted.
    package struct Stayed: Hashable, Sendable, Codable {
        package var path: String
        package var reason: String

        package init(path: String, reason: String) {
            self.path = path
            self.reason = reason
        }
    }
}
