/// One line of ``EventsRequest``: an event of an item at or below the path.
package struct ItemNews: Codable, Hashable, Sendable {
    package enum Event: String, Codable, Hashable, Sendable {
        /// The first line: from here on no event is missed.
        case following
        case appeared, changed, moved, deleted
        /// A conflict version was added, removed, or resolved.
        case versionGained, versionLost, versionResolved
        /// The keys are in `keys`.
        case ubiquityAttributes
    }

    package var event: Event
    /// The current or last path of the item, relative to the container's root.
    package var path: String
    /// The former path of a moved item.
    package var from: String?
    /// The ubiquity attributes that changed, such as `NSURLUbiquitousItemIsUploadedKey`.
    package var keys: [String]?
    /// The id of a version.
    package var version: String?
    /// RFC 3339.
    package var time: String
    /// The process that caused it; `nil` for another device, and for the daemon itself.
    package var process: Int32?
    /// The name of the process's program, or the name of the device.
    package var origin: String?

    package init(event: Event, path: String, time: String) {
        self.event = event
        self.path = path
        self.time = time
    }
}
