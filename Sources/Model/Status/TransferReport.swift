/// The result of an export, an import or an adoption.
package struct TransferReport: Hashable, Sendable, Codable {
    package var fileCount = 0
    package var directoryCount = 0
    package var linkCount = 0
    /// The bytes of the files, including holes.
    package var byteCount: Int64 = 0
    /// Conflict versions that were written beside their files; for an export only.
    package var conflictCount = 0
    /// Items that existed already, with the right contents.
    package var presentCount = 0
    /// Items that are left out because of their name or kind.
    package var skippedCount = 0
    /// Items that could not be read or sent.
    package var failedCount = 0

    /// Files among ``fileCount`` that replaced older bytes; for an import from a remote only.
    package var replacedCount = 0
    /// Files that were imported earlier and are gone from the remote; for an import from a remote only.
    package var goneCount = 0

    package init() {}

    /// Counts an item that is left out.
    package mutating func count(_ kind: TransferProblem.Kind) {
        switch kind {
        case .skipped: skippedCount += 1
        case .failed: failedCount += 1
        case .note: break
        }
    }
}

/// A report about one item during the transfer of a tree.
package struct TransferProblem: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// Left out by a rule: not an error.
        case skipped
        /// Left out because of an error.
        case failed
        /// Transferred, but incompletely.
        case note
    }

    package var kind: Kind
    /// Relative to the source directory or prefix; empty for all of it.
    package var path: String
    /// For people.
    package var reason: String

    package init(_ kind: Kind, path: String, _ reason: String) {
        self.kind = kind
        self.path = path
        self.reason = reason
    }
}
