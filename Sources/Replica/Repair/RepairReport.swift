/// What start-up repair found and did.
package struct RepairReport: Hashable, Sendable {
    /// Whether the last run ended in a power failure: what it had sent may be newer than the files here.
    package var followsPowerFailure = false
    /// Bytes that stood elsewhere than the index says and were moved back.
    package var movedCount = 0
    /// Files changed behind the replica's back: their changes will be uploaded.
    package var editedCount = 0
    /// Files that the index did not know: they are items now.
    package var adoptedCount = 0
    /// Files that the index did not know after a power failure: they were put aside.
    package var recoveredCount = 0
    /// Clean files whose bytes were gone: they are placeholders again.
    package var evictedCount = 0
    /// Local changes whose bytes were gone. Nothing of them can be had back.
    package var lostCount = 0
    /// One sentence for each.
    package var lines: [String] = []

    package init() {}

    package var isEmpty: Bool { lines.isEmpty }
}
