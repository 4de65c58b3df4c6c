/// Which new items stay on this machine: patterns of gitignore(5), the last one that matches decides.
///
/// A pattern without a slash, other than one at its end, matches names in every directory; one with a slash matches the
/// path from the container's root. What is in an ignored directory is ignored with it, whatever else matches.
package struct IgnorePatterns: Hashable, Sendable {
    private let patterns: [IgnorePattern]
    /// Whether a decision needs the path of an item, and not only its name.
    package let needsPaths: Bool

    /// The most patterns of a mount, and the longest one in bytes.
    package static let countLimit = 1000
    package static let byteLimit = 1000

    /// - Parameter lines: As the lines of `.gitignore`: comments and empty lines have no effect.
    package init(_ lines: [String] = []) {
        patterns = lines.compactMap(IgnorePattern.init)
        needsPaths = patterns.contains { !$0.isName }
    }

    /// Those, and then others, which win.
    package func followed(by lines: [String]) -> IgnorePatterns {
        IgnorePatterns(self.patterns + IgnorePatterns(lines).patterns)
    }

    private init(_ patterns: [IgnorePattern]) {
        self.patterns = patterns
        needsPaths = patterns.contains { !$0.isName }
    }

    /// Whether an item is ignored that is in a directory that is not.
    ///
    /// - Parameter path: From the container's root, ending with the name, without a slash at its beginning. Called only
    ///   if a pattern needs it.
    package func ignores(
        name: some Sequence<UInt8>, isDirectory: Bool, path: () throws -> [UInt8]
    ) rethrows -> Bool {
        let name = Array(name)
        let path = needsPaths ? try path() : name
        let last = patterns.last { pattern in
            if pattern.isForDirectories, !isDirectory { return false }
            return pattern.isName ? pattern.matches(name: name) : pattern.matches(path: path)
        }
        return last.map { !$0.isNegative } ?? false
    }
}
