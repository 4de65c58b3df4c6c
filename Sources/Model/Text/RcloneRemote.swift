/// A directory of a remote of rclone, by rclone's own spelling: `REMOTE:PATH`.
///
/// It is an argument of rclone and nothing else here looks into it: a remote may also be a connection string, such as
/// `:webdav,url=…:Photos`.
package struct RcloneRemote: ByteText {
    /// Without slashes at its end, unless they are all of the path.
    package let string: String

    /// What precedes it on Dewpoint's command line.
    package static let scheme = "rclone:"

    /// - Parameter text: `rclone:REMOTE:PATH`, where the path may be empty.
    /// - Throws: ``FileError`` with `invalid` and a sentence.
    package init(_ text: String) throws(FileError) {
        guard text.hasBytePrefix(Self.scheme) else { throw Self.refusal(text) }
        var bytes = Array(text.utf8.dropFirst(Self.scheme.utf8.count))
        // Without a colon, rclone would take it for a local directory, and the wrong one if the name is misspelled.
        guard bytes.dropFirst().contains(Self.colon), !bytes.contains(where: { $0 < 0x20 || $0 == 0x7f }) else {
            throw Self.refusal(text)
        }
        while bytes.count > 1, bytes.last == ItemPath.separator, bytes[bytes.count - 2] != Self.colon {
            bytes.removeLast()
        }
        string = String(decoding: bytes, as: UTF8.self)
    }

    /// An item below it, as rclone takes it.
    package func appending(_ path: ItemPath) -> String {
        let last = string.utf8.last
        return string + (last == Self.colon || last == ItemPath.separator ? "" : "/") + path.string
    }

    private static let colon = UInt8(ascii: ":")

    private static func refusal(_ text: String) -> FileError {
        FileError(
            .invalid, "\(text) is no remote of rclone: give rclone:REMOTE:PATH, with a remote of: rclone listremotes")
    }
}
