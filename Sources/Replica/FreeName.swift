import Model

/// Names for a copy: `report 2.pdf`, `report 3.pdf`, and so on.
enum FreeName {
    /// How many names are tried before giving up.
    static let attemptLimit = 10_000

    /// - Parameter number: 2 or more.
    /// - Returns: `name` with the number before its extension, its stem cut so that the whole keeps within 255 bytes.
    static func candidate(_ name: ItemName, number: Int) throws(FileError) -> ItemName {
        var ending = name.pathExtension.isEmpty ? "" : ".\(name.pathExtension)"
        // An "extension" that fills the name is part of it.
        if ending.utf8.count > ItemName.byteLimit / 2 { ending = "" }
        let suffix = " \(number)\(ending)"
        var stem = Substring(name.string).unicodeScalars
        stem.removeLast(ending.unicodeScalars.count)
        while stem.utf8ByteCount + suffix.utf8.count > ItemName.byteLimit { stem.removeLast() }
        return try ItemName(String(stem) + suffix)
    }
}

extension Substring.UnicodeScalarView {
    fileprivate var utf8ByteCount: Int { Substring(self).utf8.count }
}
