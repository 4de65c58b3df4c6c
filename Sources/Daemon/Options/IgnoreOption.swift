import Model

/// The patterns of `-o ignore=PATTERN:…`, in which colons and commas have a meaning of their own.
package enum IgnoreOption {
    /// The option for patterns, which ``DaemonOptions`` reads back as they were.
    package static func text(_ patterns: [String]) -> String { "ignore=" + patterns.map(escape).joined(separator: ":") }

    static func escape(_ pattern: String) -> String {
        String(pattern.flatMap { ":,\\".contains($0) ? ["\\", $0] : [$0] })
    }

    /// - Throws: A sentence for a pattern that cannot be one.
    static func patterns(_ value: String) throws(DaemonOptions.Problem) -> [String] {
        var patterns: [String] = []
        for part in parts(of: value, at: ":") {
            let pattern = plain(part)
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
        if pattern.split(separator: "**", omittingEmptySubsequences: false).count - 1 > doubleStarLimit {
            return "a pattern of ignore has at most \(doubleStarLimit) times **"
        }
        if pattern.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7f }) {
            return "a pattern of ignore must not contain control characters"
        }
        return nil
    }

    /// The parts between separators; one behind a backslash is none.
    static func parts(of text: String, at separator: Character) -> [String] {
        var parts = [""]
        var isEscaped = false
        for character in text {
            if character == separator, !isEscaped {
                parts.append("")
            } else {
                parts[parts.count - 1].append(character)
            }
            isEscaped = character == "\\" && !isEscaped
        }
        return parts
    }

    /// Without the backslashes of such an option; those in front of other characters belong to the text.
    static func plain(_ text: String) -> String {
        var plain = ""
        var rest = Substring(text)
        while let character = rest.popFirst() {
            if character == "\\", let next = rest.first, ":,\\".contains(next) {
                plain.append(next)
                rest.removeFirst()
            } else {
                plain.append(character)
            }
        }
        return plain
    }
}
