/// One available content of an item: the current one, one that lost a conflict, or an earlier one.
///
/// Apple's `NSFileVersion` in one value. See "Versions and the trash" in the Semantics page.
package struct ItemVersion: Hashable, Sendable, Codable {
    package enum Kind: String, Hashable, Sendable, Codable {
        case current
        /// Lost against another edit, and waits to be resolved.
        case conflict
        /// Was current until it was replaced; kept for 30 days.
        case earlier
    }

    /// Identifies the version on every device, for as long as it is kept: `current`, the UUID of a conflict version, or
    /// `commit-` and the number of its commit.
    package var id: String
    package var kind: Kind
    /// When its bytes were made: RFC 3339, in UTC.
    package var date: String
    /// The human name of the device that made it, if known.
    package var computer: String?
    package var device: DeviceID
    package var size: Int64
    /// Whether its bytes are local; for the current version only.
    package var local: Bool
    /// Apple's terms for the kind: a version that is no conflict counts as resolved.
    package var conflict: Bool
    package var resolved: Bool

    package init(
        id: String, kind: Kind, date: Timestamp, computer: String?, device: DeviceID, size: Int64, local: Bool
    ) {
        self.id = id
        self.kind = kind
        self.date = date.rfc3339
        self.computer = computer
        self.device = device
        self.size = size
        self.local = local
        conflict = kind == .conflict
        resolved = kind != .conflict
    }
}

/// The version of an item that is to become current.
package enum VersionChoice: Hashable, Sendable {
    /// The current one.
    case current
    /// The most recent one.
    case newest
    /// The one with this ``ItemVersion/id``.
    case version(String)

    package init(_ text: String) {
        switch text {
        case "current": self = .current
        case "newest": self = .newest
        default: self = .version(text)
        }
    }
}
