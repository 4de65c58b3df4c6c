/// One line of ``ControlRoute/events``: something happened to an item at or below the path.
package struct ItemNews: Codable, Hashable, Sendable {
    package enum Event: String, Codable, Hashable, Sendable {
        /// The first line: from here on nothing is missed.
        case following
        case appeared, changed, moved, deleted
        /// A conflict version came, went, or was resolved.
        case versionGained, versionLost, versionResolved
        /// `keys` says which.
        case ubiquityAttributes
    }

    package var event: Event
    /// Where the item is now, or was; below the container's root.
    package var path: String
    /// Where a moved item was.
    package var from: String?
    /// The ubiquity attributes that changed, such as `NSURLUbiquitousItemIsUploadedKey`.
    package var keys: [String]?
    /// The id of a version.
    package var version: String?
    /// RFC 3339.
    package var time: String
    /// The process that did it; `nil` for another device, and for the daemon itself.
    package var process: Int32?
    /// The name of the process's program, or the name of the device.
    package var origin: String?

    package init(event: Event, path: String, time: String) {
        self.event = event
        self.path = path
        self.time = time
    }
}
