/// One pattern of ``IgnorePatterns``, with the meaning that it has for git; see gitignore(5).
struct IgnorePattern: Hashable, Sendable {
    /// Whether it begins with `!`: what matches is synced although an earlier pattern matches it.
    let isNegative: Bool
    /// Whether it ends with a slash: only directories match.
    let isForDirectories: Bool
    /// Whether it has no other slash: it matches names in any directory.
    let isName: Bool
    /// What of the name it matches; `nil`: any item.
    let maker: ProgramFile?
    private let bytes: [UInt8]
    /// How many bytes at the beginning stand for themselves.
    private let literalCount: Int
    private let isLiteralEnd: Bool

    /// - Parameters:
    ///   - line: As a line of `.gitignore`.
    ///   - maker: What of the name it matches; `nil`: any item.
    /// - Returns: `nil` for an empty line and for a comment.
    init?(_ line: String, maker: ProgramFile? = nil) {
        self.maker = maker
        var bytes = Self.withoutTrailingSpaces(Array(line.utf8))
        guard !bytes.isEmpty, bytes[0] != UInt8(ascii: "#") else { return nil }
        isNegative = bytes[0] == UInt8(ascii: "!")
        if isNegative { bytes.removeFirst() }
        isForDirectories = bytes.last == UInt8(ascii: "/")
        if isForDirectories { bytes.removeLast() }
        isName = !bytes.contains(UInt8(ascii: "/"))
        if bytes.first == UInt8(ascii: "/") { bytes.removeFirst() }
        self.bytes = bytes
        literalCount = bytes.prefix { !"*?[\\".utf8.contains($0) }.count
        isLiteralEnd =
            bytes.first == UInt8(ascii: "*") && !bytes.dropFirst().contains { "*?[\\".utf8.contains($0) }
    }

    /// Spaces at the end do not count, unless a backslash is in front of them.
    private static func withoutTrailingSpaces(_ bytes: [UInt8]) -> [UInt8] {
        var end = bytes.count
        var index = 0
        var spaces: Int?
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: " ") {
                spaces = spaces ?? index
            } else {
                if bytes[index] == UInt8(ascii: "\\") { index += 1 }
                spaces = nil
            }
            index += 1
        }
        if let spaces { end = spaces }
        return Array(bytes[..<end])
    }

    /// Whether a name matches; for patterns with ``isName``.
    func matches(name: [UInt8]) -> Bool {
        if literalCount == bytes.count { return name == bytes }
        if isLiteralEnd {
            return name.count >= bytes.count - 1 && name.suffix(bytes.count - 1).elementsEqual(bytes.dropFirst())
        }
        return Wildcards(bytes[...], respectsSlashes: false).match(name[...])
    }

    /// Whether a path below the root matches; for all other patterns.
    func matches(path: [UInt8]) -> Bool {
        guard path.starts(with: bytes[..<literalCount]) else { return false }
        if literalCount == bytes.count { return path.count == bytes.count }
        // As in git, what begins after the literal part counts as the beginning of the pattern.
        return Wildcards(bytes[literalCount...], respectsSlashes: true).match(path[literalCount...])
    }
}
