/// An identifier of a container as programs write it: with or without `iCloud.`, and with or without a team prefix of
/// ten capital letters and digits, as in `ABCDE12345.com.example.notes`. All spellings name the same container.
struct ContainerName: Hashable, Sendable {
    private let rest: Substring

    private static let teamPrefixCount = 10

    init(_ identifier: String) {
        var rest = identifier[...]
        if let dot = rest.firstIndex(of: "."), Self.isTeam(rest[..<dot]) { rest = rest[rest.index(after: dot)...] }
        if rest.hasPrefix("iCloud.") { rest = rest.dropFirst("iCloud.".count) }
        self.rest = rest
    }

    private static func isTeam(_ part: Substring) -> Bool {
        part.count == teamPrefixCount
            && part.allSatisfy { $0.isASCII && ($0.isNumber || $0.isUppercase) }
    }
}
