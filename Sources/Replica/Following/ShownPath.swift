/// A path as it is shown and sent: whole, or, when no program could use it, without its middle.
///
///     a/b/c                          up to 4096 bytes
///     a/b/………………………/y/z             longer: its first directories, a mark, its last names
///
/// The mark is longer than a name can be: neither the kernel nor the control API takes a shortened path for that of
/// another item; both refuse it as too long. So an item takes some kilobytes at most, however deep its tree is.
package struct ShownPath: Sendable {
    /// The longest path that is shown whole: `PATH_MAX`, the longest that a program can pass to the kernel.
    package static let byteLimit = 4096
    /// How many bytes of a longer one follow the mark, at most: any name fits.
    static let tailByteLimit = 512
    /// 258 bytes.
    static let mark = String(repeating: "…", count: 86)

    /// The whole path, or the directories of a shortened one that come before its mark, which all that is in them shares.
    private var head: String
    /// The last names of a shortened path, at least one.
    private var tail: String?

    package static let root = ShownPath(head: "", tail: nil)

    package var string: String { tail.map { "\(head)/\(Self.mark)/\($0)" } ?? head }

    /// How many bytes it has that it does not share with the path of its directory.
    var ownByteCount: Int { tail?.utf8.count ?? head.utf8.count }

    /// The path of a name in this directory.
    package func appending(_ name: String) -> ShownPath {
        guard let tail else {
            if head.isEmpty { return ShownPath(head: name, tail: nil) }
            guard head.utf8.count + 1 + name.utf8.count <= Self.byteLimit else {
                return ShownPath(head: head, tail: name)
            }
            return ShownPath(head: "\(head)/\(name)", tail: nil)
        }
        var kept = Array(tail.utf8)[...]
        while !kept.isEmpty, kept.count + 1 + name.utf8.count > Self.tailByteLimit {
            kept = kept.firstIndex(of: UInt8(ascii: "/")).map { kept[($0 + 1)...] } ?? []
        }
        return ShownPath(
            head: head, tail: kept.isEmpty ? name : "\(String(decoding: kept, as: UTF8.self))/\(name)")
    }
}

extension ShownPath: Hashable {
    package static func == (left: Self, right: Self) -> Bool {
        left.string.utf8.elementsEqual(right.string.utf8)
    }

    package func hash(into hasher: inout Hasher) {
        for byte in string.utf8 { hasher.combine(byte) }
    }
}
