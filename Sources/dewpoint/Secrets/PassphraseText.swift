import Foundation
import Glibc
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

/// The first line of a file, a pipe or a terminal, which need not end there.
struct FirstLine {
    /// Enough to see that a passphrase is too long: with the two bytes of a line's end.
    private static let byteLimit = Passphrase.byteLimit + 2

    private(set) var bytes = Data()
    private var hasEnded = false
    /// The number of the error that ended it; 0 for none.
    private(set) var error: Int32 = 0

    /// Whether nothing more is needed of it.
    var isComplete: Bool {
        hasEnded || bytes.count >= Self.byteLimit || bytes.contains(UInt8(ascii: "\n"))
    }

    /// Reads on. Related: read(2), poll(2).
    ///
    /// - Parameter milliseconds: How long to wait for something; `nil` for as long as it takes.
    mutating func read(from descriptor: Int32, waiting milliseconds: UInt32? = nil) {
        var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&waiting, 1, milliseconds.map { Int32(clamping: $0) } ?? -1) > 0 else { return }
        var piece = [UInt8](repeating: 0, count: max(0, Self.byteLimit - bytes.count))
        let count = Glibc.read(descriptor, &piece, piece.count)
        if count < 0 {
            guard errno != EINTR, errno != EAGAIN else { return }
            error = errno
        }
        if count <= 0 { hasEnded = true } else { bytes += piece.prefix(count) }
    }
}
