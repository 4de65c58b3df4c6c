package import Model

/// Names for a copy: `report 2.pdf`, `report 3.pdf`, and so on.
package enum FreeName {
    /// How many names repair tries before giving up.
    static let attemptLimit = 10_000

    /// How many numbers are tried one by one before they are doubled.
    package static let stepLimit = 16

    /// The first free number from 2 on, if it is low. If many are taken, as in a directory with thousands of items of
    /// one name, a free number whose predecessor is taken, found in few steps.
    static func first(for name: ItemName, isFree: (ItemName) throws -> Bool) throws -> ItemName {
        var taken = 1
        for number in 2...stepLimit {
            let candidate = try candidate(name, number: number)
            if try isFree(candidate) { return candidate }
            taken = number
        }
        var free = 2 * taken
        while try !isFree(candidate(name, number: free)) {
            guard free < numberLimit else { throw FileError(.exists, "no free name for a copy of \(name)") }
            taken = free
            free *= 2
        }
        while free - taken > 1 {
            let middle = taken + (free - taken) / 2
            if try isFree(candidate(name, number: middle)) { free = middle } else { taken = middle }
        }
        return try candidate(name, number: free)
    }

    /// Higher than any possible number of items.
    private static let numberLimit = 1 << 40

    /// - Parameter number: 2 or more.
    /// - Returns: `name` with the number before its extension, its stem cut so that the whole fits into 255 bytes.
    package static func candidate(_ name: ItemName, number: Int) throws(FileError) -> ItemName {
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
