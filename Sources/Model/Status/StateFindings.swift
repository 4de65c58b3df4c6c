/// What is in a state whose machine is lost, and not in its container.
package struct StateFindings: Hashable, Sendable {
    /// The container of the state.
    package var container = ""
    /// How many changed items wait to be uploaded, without deletions that are left out.
    package var changeCount = 0
    /// Items that were deleted, by their paths; the deletions are left out.
    package var deletedPaths: [String] = []
    /// Items that are in no container, by their paths: ignored and excluded ones.
    package var unsyncedPaths: [String] = []
    /// Files in `files/` that the index does not know, or whose bytes it does not trust, by their paths there.
    package var unknownPaths: [String] = []
    /// What could not be read, a sentence each.
    package var problems: [String] = []

    package init() {}
}

/// What was copied into a mounted container.
package struct CopiedItems: Hashable, Sendable {
    /// By the paths in the container; of a directory that was not there, only the directory itself.
    package var paths: [String] = []
    /// What could not be copied, a sentence each.
    package var problems: [String] = []

    package init() {}
}
