import Foundation
import Model

/// The name of a losing version, which is placed beside its file: `report (conflict sofa 2026-01-31 12.00.00).pdf`.
///
/// The time is in UTC, with dots, since some file systems allow no colons.
enum ConflictFileName {
    /// How many names are tried for one version.
    static let attemptLimit = 1000

    /// - Parameter number: 1 for the plain name; a greater one is appended to the time.
    static func candidate(for version: ConflictVersion, of name: ItemName, number: Int) -> String {
        let time = version.modified.rfc3339.prefix(19).map { $0 == "T" ? " " : $0 == ":" ? "." : $0 }
        var device: [Unicode.Scalar] = version.deviceName.string.unicodeScalars.map {
            $0 == "/" || $0 == "\0" ? "-" : $0
        }
        if device.isEmpty { device = Array(version.device.description.prefix(8).unicodeScalars) }
        let suffix = " \(String(time))\(number > 1 ? " \(number)" : ""))"
        var ending = name.pathExtension.isEmpty ? "" : ".\(name.pathExtension)"
        // An "extension" that fills the name is part of it.
        if ending.utf8.count > extensionByteLimit { ending = "" }
        let stem = Array(name.string.unicodeScalars.dropLast(ending.unicodeScalars.count))
        let fixed = " (conflict ".utf8.count + suffix.utf8.count + ending.utf8.count
        // A name that is too long is cut: first the device's name, then the file's.
        let who = cut(device, to: deviceByteLimit)
        return cut(stem, to: ItemName.byteLimit - fixed - who.utf8.count) + " (conflict \(who)\(suffix)\(ending)"
    }

    private static let extensionByteLimit = 32
    private static let deviceByteLimit = 64

    private static func cut(_ scalars: [Unicode.Scalar], to byteLimit: Int) -> String {
        var text = String.UnicodeScalarView()
        var byteCount = 0
        for scalar in scalars {
            byteCount += UTF8.width(scalar)
            guard byteCount <= byteLimit else { break }
            text.append(scalar)
        }
        return String(text)
    }
}
