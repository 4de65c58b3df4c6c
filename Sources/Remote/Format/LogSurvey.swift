package import Model

/// Which commits a log has, by its keys alone.
package struct LogSurvey: Hashable, Sendable {
    /// How many gaps are listed; the others are only counted.
    package static let gapLimit = 20

    /// The highest existing commit; 0 for an empty log.
    package private(set) var newest: CommitNumber = 0
    /// The highest commit that was trimmed; 0 for none.
    package private(set) var trimmed: CommitNumber = 0
    /// Commits that are missing although later ones exist: the last gaps.
    package private(set) var gaps: [ClosedRange<CommitNumber>] = []
    package private(set) var gapCount = 0

    /// - Parameter number: Higher than those before.
    mutating func add(_ number: CommitNumber, isTrimmed: Bool) {
        if number > newest + 1 {
            gapCount += 1
            gaps.append(newest + 1...number - 1)
            if gaps.count > Self.gapLimit { gaps.removeFirst() }
        }
        newest = number
        if isTrimmed { trimmed = number }
    }
}
