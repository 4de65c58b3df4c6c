/// A path of names separated by `/`: absolute, or relative to a container's root, whose path is empty.
///
/// The only place where a path is split.
package struct ItemPath: PlainByteText {
    package let string: String

    package init(_ string: String) { self.string = string }

    package init(_ components: some Sequence<some StringProtocol>) { string = components.joined(separator: "/") }

    package static let separator = UInt8(ascii: "/")

    package var isAbsolute: Bool { string.utf8.first == Self.separator }

    /// The names, without the empty ones before, after and between slashes.
    package var components: [Substring] { string.utf8.split(separator: Self.separator).map { Substring($0) } }

    /// The last name; `nil` in a path without names.
    package var last: Substring? { components.last }

    /// The path as seen from a directory; empty for the directory itself, `nil` when it is not below it. Both paths are
    /// without superfluous slashes, except for that of `/`.
    package func relative(to directory: ItemPath) -> ItemPath? {
        let above = directory.string.utf8
        guard string.utf8.starts(with: above) else { return nil }
        let rest = string.utf8.dropFirst(above.count)
        if rest.isEmpty || above.isEmpty || above.last == Self.separator { return ItemPath(String(Substring(rest))) }
        return rest.first == Self.separator ? ItemPath(String(Substring(rest.dropFirst()))) : nil
    }

    /// The path of an item below this directory.
    package func appending(_ path: some StringProtocol) -> ItemPath {
        if string.isEmpty { return ItemPath(String(path)) }
        if path.isEmpty { return self }
        return ItemPath(string.utf8.last == Self.separator ? string + path : "\(string)/\(path)")
    }
}
