/// Paths as they are shown and sent: whole, or, when no program could use them, shortened in the middle.
///
///     a/b/c                          up to 4096 bytes
///     a/b/………………………/y/z             longer: its first directories, a mark, its last names
///
/// The mark is longer than a name can be: neither the kernel nor the control API takes a shortened path for that of
/// another item; both refuse it as too long. So the items of a tree of any depth take some kilobytes each.
package enum ShownPath {
    /// The longest path that is shown whole: `PATH_MAX`, the longest that a program can pass to the kernel.
    package static let byteLimit = 4096
    /// How many bytes of a longer one follow the mark, at most; one name always does.
    static let tailByteLimit = 1024
    /// 258 bytes.
    package static let mark = String(repeating: "…", count: 86)

    /// The beginning of a shortened path is at least this long: it ends before the first name that has no room.
    private static let leastHeadByteCount = byteLimit - 256
    private static let separator = Array("/\(mark)/".utf8)

    /// The path of a name in a directory.
    ///
    /// - Parameter directory: As it is shown; empty for the root.
    package static func appending(_ name: String, to directory: String) -> String {
        if directory.isEmpty { return name }
        let byteCount = directory.utf8.count
        if byteCount + 1 + name.utf8.count <= byteLimit { return "\(directory)/\(name)" }
        // Only a shortened path is longer.
        guard byteCount > byteLimit else { return "\(directory)/\(mark)/\(name)" }
        let bytes = Array(directory.utf8)
        guard let tail = tailStart(in: bytes) else { return "\(directory)/\(mark)/\(name)" }
        var start = tail
        while start < bytes.count, bytes.count - start + 1 + name.utf8.count > tailByteLimit {
            start = bytes[start...].firstIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? bytes.count
        }
        let kept = bytes[start...] + (start < bytes.count ? [UInt8(ascii: "/")] : [])
        return String(decoding: bytes[..<tail] + kept + Array(name.utf8), as: UTF8.self)
    }

    /// Where the names after the mark begin.
    private static func tailStart(in bytes: [UInt8]) -> Int? {
        var start = leastHeadByteCount
        while start + separator.count <= bytes.count {
            if bytes[start...].starts(with: separator) { return start + separator.count }
            start += 1
        }
        return nil
    }
}
