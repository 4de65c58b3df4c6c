import Model

/// The patterns of `-o ignore=PATTERN:…`, in which colons and commas have a meaning of their own.
package enum IgnoreOption {
    /// The option for patterns, which ``DaemonOptions`` reads back as they were.
    package static func text(_ patterns: [String]) -> String { "ignore=" + OptionList.text(patterns) }

    /// - Throws: A sentence for a pattern that cannot be one.
    static func patterns(_ value: String) throws(DaemonOptions.Problem) -> [String] {
        var patterns: [String] = []
        for part in OptionList.parts(of: value, at: ":") {
            let pattern = OptionList.plain(part)
            if let problem = problem(with: pattern) { throw DaemonOptions.Problem(description: problem) }
            patterns.append(pattern)
        }
        guard patterns.count <= IgnorePatterns.countLimit else {
            throw DaemonOptions.Problem(
                description: "ignore takes at most \(IgnorePatterns.countLimit) patterns, not \(patterns.count)")
        }
        return patterns
    }

    /// The most `**` in a pattern.
    private static let doubleStarLimit = 6

    /// Why a text cannot be a pattern; `nil` if it can.
    package static func problem(with pattern: String) -> String? {
        if pattern.allSatisfy({ $0 == " " }) {
            return "ignore takes patterns as of gitignore, as in ignore=node_modules/:*.o, and none of them is empty"
        }
        if pattern.utf8.count > IgnorePatterns.byteLimit {
            return "a pattern of ignore has at most \(IgnorePatterns.byteLimit) bytes, not \(pattern.utf8.count)"
        }
        // Each one may stand for any number of directories, and all combinations are tried.
        if pattern.utf8.split(separator: "**".utf8, omittingEmptySubsequences: false).count - 1 > doubleStarLimit {
            return "a pattern of ignore has at most \(doubleStarLimit) times **"
        }
        if pattern.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7f }) {
            return "a pattern of ignore must not contain control characters"
        }
        return nil
    }
}
