/// A program that downloads much by reading, as reported by `dewpoint status`.
package struct StormReport: Hashable, Sendable, Codable {
    package enum State: String, Hashable, Sendable, Codable {
        case counted
        /// It downloads much, and no limit is set.
        case noticed
        /// Its reads of files that are not local wait for an answer.
        case held
        /// They fail with EDEADLK.
        case refused
        case allowed
    }

    /// The process group, the argument of `dewpoint allow-download`.
    package var group: Int32
    package var program: String
    package var state: State
    /// RFC 3339.
    package var since: String
    /// What it requested within the minute before.
    package var fileCount: Int
    package var byteCount: Int64
    package var waitingReadCount: Int

    package init(
        group: Int32, program: String, state: State, since: String, fileCount: Int, byteCount: Int64,
        waitingReadCount: Int
    ) {
        self.group = group
        self.program = program
        self.state = state
        self.since = since
        self.fileCount = fileCount
        self.byteCount = byteCount
        self.waitingReadCount = waitingReadCount
    }
}
