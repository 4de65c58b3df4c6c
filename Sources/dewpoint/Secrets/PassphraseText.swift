import Sealing

/// A passphrase as it was read: bytes, which are UTF-8 or refused. Repaired, all that is not UTF-8 would be the same
/// character, and one passphrase would open what another one closed.
enum PassphraseText {
    /// - Parameter source: Where they are from, for people.
    /// - Throws: ``CommandFailure`` with `usage`, without what was read.
    static func decode(_ bytes: some Collection<UInt8>, from source: String) throws(CommandFailure) -> String {
        // Of what is too long, the end may not have been read.
        guard bytes.count <= Passphrase.byteLimit else { throw CommandFailure(.usage, Passphrase.tooLong) }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw CommandFailure(.usage, "\(source) is not UTF-8, as a passphrase must be")
        }
        return text
    }

    /// The first line, without its end.
    static func decode(
        firstLineOf bytes: some BidirectionalCollection<UInt8>, from source: String
    ) throws(CommandFailure) -> String {
        var line = bytes.prefix { $0 != UInt8(ascii: "\n") }
        if line.last == UInt8(ascii: "\r") { line = line.dropLast() }
        return try decode(line, from: source)
    }
}
