/// What an export, an import or an adoption did.
package struct TransferReport: Hashable, Sendable, Codable {
    package var fileCount = 0
    package var directoryCount = 0
    package var linkCount = 0
    /// The bytes of the files, holes counted in.
    package var byteCount: Int64 = 0
    /// Conflict versions that were written beside their files; of an export only.
    package var conflictCount = 0
    /// What was there already, as it should be.
    package var presentCount = 0
    /// What by its name or kind stays where it is.
    package var skippedCount = 0
    /// What could not be had, or not be sent.
    package var failedCount = 0

    package init() {}

    /// Counts one that is left out.
    package mutating func count(_ kind: TransferProblem.Kind) {
        switch kind {
        case .skipped: skippedCount += 1
        case .failed: failedCount += 1
        case .note: break
        }
    }
}

/// What is told of one item while a tree is on its way.
package struct TransferProblem: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// Left out by a rule: nothing is wrong.
        case skipped
        /// Left out although it should have come.
        case failed
        /// It came, but not all that belongs to it.
        case note
    }

    package var kind: Kind
    /// Below the directory or prefix that the tree comes from; empty for all of it.
    package var path: String
    /// For people.
    package var reason: String

    package init(_ kind: Kind, path: String, _ reason: String) {
        self.kind = kind
        self.path = path
        self.reason = reason
    }
}
