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
        patterns = lines.compactMap { IgnorePattern($0) }
        needsPaths = patterns.contains { !$0.isName }
    }

    /// Patterns that match only what a program makes.
    package init(_ lines: [(String, ProgramFile)]) {
        self.init(lines.compactMap { IgnorePattern($0.0, maker: $0.1) })
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
        name: some Sequence<UInt8>, _ sample: ItemSample, path: () throws -> [UInt8]
    ) throws -> Bool {
        let name = Array(name)
        let path = needsPaths ? try path() : name
        let last = try patterns.last { pattern in
            if pattern.isForDirectories, sample.kind != .directory { return false }
            guard pattern.isName ? pattern.matches(name: name) : pattern.matches(path: path) else { return false }
            return try pattern.maker?.isMade(of: sample) ?? true
        }
        return last.map { !$0.isNegative } ?? false
    }

    /// Whether what an item is, and not only its name, decides: it may be synced later.
    package func mayChange(name: some Sequence<UInt8>) -> Bool {
        let name = Array(name)
        return patterns.contains { pattern in
            guard let maker = pattern.maker, maker != .marked else { return false }
            return pattern.matches(name: name)
        }
    }
}
