/// The findings and actions of start-up repair.
package struct RepairReport: Hashable, Sendable {
    /// Whether the last run ended in a power failure: data that it had sent may be newer than the files here.
    package var followsPowerFailure = false
    /// Bytes that were not at their place in the index and were moved back.
    package var movedCount = 0
    /// Files that were changed outside the mount: their changes will be uploaded.
    package var editedCount = 0
    /// Files that the index did not know: they are items now.
    package var adoptedCount = 0
    /// Files that the index did not know after a power failure: they were put aside.
    package var recoveredCount = 0
    /// Unmodified files whose bytes were missing: they are placeholders again.
    package var evictedCount = 0
    /// Local changes whose bytes were missing. They cannot be recovered.
    package var lostCount = 0
    /// One sentence for each.
    package var lines: [String] = []

    package init() {}

    package var isEmpty: Bool { lines.isEmpty }
}
