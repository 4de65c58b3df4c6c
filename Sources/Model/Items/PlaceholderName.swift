/// The name of an item in the backing directory.
///
///     downloaded   report.pdf          its own name
///     placeholder  .report.pdf.icloud  the name iCloud gives it
///
/// Two kinds of name cannot be used directly and get an escaped one, `.dewpoint-HEX.here` or `.dewpoint-HEX.icloud`
/// with 32 hex digits computed from the name: names over ``stubbableByteLimit`` bytes when not downloaded, since the
/// placeholder's would exceed 255 bytes, and names that look like a placeholder or like an escape, downloaded or not.
/// The property list inside a placeholder always contains the real name, and the index knows it in every case.
package enum PlaceholderName {
    /// The longest real name that `.NAME.icloud` can hold, in bytes.
    package static let stubbableByteLimit = ItemName.byteLimit - 8

    private static let suffix = ".icloud"
    private static let escapePrefix = ".dewpoint-"

    /// Whether a name has the form of a placeholder's: `.X.icloud`, with `X` not empty.
    package static func looksLikePlaceholder(_ name: String) -> Bool {
        name.utf8.first == UInt8(ascii: ".") && name.utf8.suffix(suffix.utf8.count).elementsEqual(suffix.utf8)
            && name.utf8.count > 1 + suffix.utf8.count
    }

    /// The name of a downloaded file, and of everything that is not a file.
    package static func backingName(of name: ItemName) -> String {
        needsEscape(name) ? "\(escapePrefix)\(fingerprint(name)).here" : name.string
    }

    /// The name of the property list that represents a file whose bytes are not local.
    package static func placeholderName(of name: ItemName) -> String {
        needsEscape(name) || name.string.utf8.count > stubbableByteLimit
            ? "\(escapePrefix)\(fingerprint(name))\(suffix)" : ".\(name.string)\(suffix)"
    }

    private static func needsEscape(_ name: ItemName) -> Bool {
        looksLikePlaceholder(name.string) || name.string.utf8.starts(with: escapePrefix.utf8)
    }

    /// 128 bits of FNV-1a over the name, as 32 hex digits: enough to keep the names of one directory apart.
    private static func fingerprint(_ name: ItemName) -> String {
        var hash: UInt128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d
        let prime: UInt128 = 0x0000_0000_0100_0000_0000_0000_0000_013b
        for byte in name.string.utf8 { hash = (hash ^ UInt128(byte)) &* prime }
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 32 - digits.count) + digits
    }
}
