/// Requests coordinated access: all items of one call, granted together or not at all.
package struct ClaimRequest: Codable, Hashable, Sendable {
    /// One item, to read or to write: exactly one of `reading` and `writing` is set.
    package struct Item: Codable, Hashable, Sendable {
        /// Relative to the container's root, without a leading `/`; empty for the root. It need not exist.
        package var path: String
        /// Options by name: `withoutChanges`, `resolvesSymbolicLink`, `immediatelyAvailableMetadataOnly`,
        /// `forUploading`.
        package var reading: [String]?
        /// One option by name: `plain`, `forDeleting`, `forMoving`, `forMerging`, `forReplacing`,
        /// `contentIndependentMetadataOnly`.
        package var writing: String?

        package init(_ path: String, reading: [String]) {
            self.path = path
            self.reading = reading
        }

        package init(_ path: String, writing: String) {
            self.path = path
            self.writing = writing
        }
    }

    package enum Mode: String, Codable, Hashable, Sendable {
        case access
        /// `prepare(forReadingItemsAt:…)`: presenters are asked, including those of all contained items; no claim is
        /// blocked.
        case batch
    }

    /// The client's number for it: never used twice in one session.
    package var claim: UInt64
    package var items: [Item]
    /// `access` unless given.
    package var mode: Mode?
    /// The client's name for an `NSFileCoordinator`, whose calls never wait for each other. Each claim has its own
    /// unless given.
    package var coordinator: String?
    /// Claims with the same purpose never wait for each other, in any process. The coordinator's own unless given.
    package var purpose: String?
    /// The presenter that the coordinator was created with: it is not asked.
    package var presenter: UInt64?
    /// The presenter on whose queue the call is made.
    package var fromPresenter: UInt64?
    /// The claims in whose accessors the call is made.
    package var within: [UInt64]?
    /// The timeout, from now; more than 0 and at most ``timeoutLimitSeconds``. No limit unless given.
    package var timeoutSeconds: Double?

    /// The session, by the number in its welcome, at whose daemon the claim of this number was granted. That daemon was
    /// replaced, and kept it: it is granted again at once, or has ended.
    package var heldBy: UInt64?

    /// A week.
    package static let timeoutLimitSeconds: Double = 7 * 24 * 3600

    package init(claim: UInt64, items: [Item]) {
        self.claim = claim
        self.items = items
    }
}
