package import Model

/// The end of the daemon's own log file.
package struct LogRequest: ControlQuestion {
    package typealias Answer = LogTail

    package static let route = "/v1/log"
    package static let answers =
        #"`{"lines":[…]}`: the end of the daemon's log file, 1 to 1,000 lines (200 without `lines`); 501 "#
        + #"`unsupported` for a daemon in the foreground"#
    package static let example = Self(lines: 50)
    package static let isForDashboard = true

    /// How many lines, 1 to ``LogTail/lineLimit``; `nil` for ``LogTail/usualLineCount``.
    package var lines: Int?

    package init(lines: Int?) { self.lines = lines }

    package var query: ControlQuery { ControlQuery([("lines", lines.map(String.init))]) }

    package init(query: ControlQuery) throws(FileError) {
        lines = try query["lines"].map { text throws(FileError) in
            guard let number = Int(text), (1...LogTail.lineLimit).contains(number) else {
                throw FileError(.invalid, "lines= must be 1 to \(LogTail.lineLimit)")
            }
            return number
        }
    }
}
