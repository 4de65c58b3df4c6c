package import Daemon

/// The name of a mount in the mounts file. It is also the instance name of a systemd unit (`dewpoint@NAME.service`), so
/// it needs no escapes there.
package struct MountName: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let description: String

    /// The longest name in characters.
    package static let lengthLimit = 64

    /// - Throws: ``DaemonError`` with `usage` and a sentence with the allowed characters.
    package init(_ text: String) throws(DaemonError) {
        guard let name = MountName(valid: text) else {
            throw DaemonError(
                .usage,
                "\(text.isEmpty ? "an empty text" : text) cannot be the name of a mount; use 1 to \(Self.lengthLimit) of "
                    + "the letters a-z and A-Z, digits, . _ and -, and begin with none of . and -")
        }
        self = name
    }

    /// - Returns: `nil` for a text that cannot be a name.
    package init?(valid text: String) {
        guard 1...Self.lengthLimit ~= text.utf8.count, text.first != "-", text.first != ".",
            text.utf8.allSatisfy({ Self.isLetterOrDigit($0) || "._-".utf8.contains($0) })
        else { return nil }
        description = text
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }

    package static func < (one: MountName, other: MountName) -> Bool { one.description < other.description }
}
