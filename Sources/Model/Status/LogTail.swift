/// The end of a daemon's log.
package struct LogTail: Hashable, Sendable, Codable {
    /// Oldest first.
    package var lines: [String]

    /// The most lines of one answer, and their number when a request gives none.
    package static let lineLimit = 1000
    package static let usualLineCount = 200

    package init(lines: [String]) { self.lines = lines }
}
