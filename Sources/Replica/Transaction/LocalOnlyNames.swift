package import Model

/// Names that are not synced: temporary files that programs place beside their documents, and names with a marker.
package enum LocalOnlyNames {
    /// The default rule: names with `.nosync` in them, `.DS_Store`, owner files of office programs (`~$…`), the swap
    /// and probe files of vim (`.NAME.swp`, `4913`), the lock links of Emacs (`.#…`), and FUSE's hidden files.
    ///
    /// Backup files (`NAME~`) are synced: a user may want them back.
    package static func standard(_ name: ItemName) -> Bool {
        let bytes = Array(name.string.utf8)
        func starts(with prefix: StaticString) -> Bool {
            prefix.withUTF8Buffer { bytes.starts(with: $0) }
        }
        if bytes.elementsEqual(".DS_Store".utf8) || bytes.elementsEqual("4913".utf8) { return true }
        if starts(with: "~$") || starts(with: ".#") || starts(with: ".fuse_hidden") { return true }
        return isSwapFile(bytes) || contains(bytes, Array(".nosync".utf8))
    }

    /// `.NAME.sw?`, with a final letter as vim counts them (`.swp`, `.swo`, …).
    private static func isSwapFile(_ bytes: [UInt8]) -> Bool {
        guard bytes.count >= 6, bytes[0] == UInt8(ascii: ".") else { return false }
        let end = bytes.suffix(4)
        guard end.starts(with: ".sw".utf8), let last = end.last else { return false }
        return (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(last)
    }

    private static func contains(_ bytes: [UInt8], _ part: [UInt8]) -> Bool {
        guard bytes.count >= part.count else { return false }
        return (0...(bytes.count - part.count)).contains { bytes[$0...].starts(with: part) }
    }
}
