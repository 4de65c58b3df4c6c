import Crypto
import CryptoExtras
import Foundation

/// What a person knows that opens a container.
package enum PersonalSecret: Sendable {
    case passphrase(Passphrase)
    case recovery(RecoveryCode)
}

/// A passphrase, by its bytes in UTF-8, normalized to composed characters: another keyboard may spell them apart.
///
/// It is shown nowhere: neither in a description nor in a mirror.
package struct Passphrase: Sendable, CustomStringConvertible, CustomReflectable {
    /// The longest in bytes: 1024.
    package static let byteLimit = 1024
    /// For people.
    package static let tooLong = "a passphrase has 1 to \(byteLimit) bytes; this one has more"

    let bytes: [UInt8]

    /// - Throws: ``KeyringError`` with `refused` when it is empty or too long.
    package init(_ text: String) throws(KeyringError) {
        // Composed from what is decomposed: else Foundation leaves a final consonant beside a Hangul syllable (UAX #15, 11).
        bytes = Array(text.decomposedStringWithCanonicalMapping.precomposedStringWithCanonicalMapping.utf8)
        guard (1...Self.byteLimit).contains(bytes.count) else {
            // Whoever read it may have read no more than that it is too long.
            throw .refused(
                bytes.isEmpty ? "a passphrase has 1 to \(Self.byteLimit) bytes; this one is empty" : Self.tooLong)
        }
    }

    /// Whether it may be meant for a ``RecoveryCode`` that was read wrongly: letters and digits in groups, of about its
    /// length.
    package var resemblesRecoveryCode: Bool {
        let groups = bytes.split { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: " ") }
        return groups.count >= 10 && (50...62).contains(groups.joined().count)
            && groups.joined().allSatisfy { byte in
                [UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z")]
                    .contains { $0.contains(byte) || $0.contains(byte & 0xdf) }
            }
    }

    package var description: String { "a passphrase" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// What it costs to try a passphrase: the parameters of scrypt (RFC 7914).
///
/// They come from the store: less than the floor would make guessing cheap, more than the ceiling would take the memory
/// of whoever tries.
struct PassphraseCost: Codable, Hashable, Sendable {
    /// N: a power of two.
    var rounds: Int
    /// r
    var blockSize: Int
    /// p
    var parallelism: Int

    /// 128 MiB.
    static let floor = PassphraseCost(rounds: 1 << 17, blockSize: 8, parallelism: 1)
    /// 1 GiB.
    private static let roundLimit = 1 << 20
    private static let parallelismLimit = 4

    /// - Throws: ``KeyringError`` with `parameters`, before any work is done.
    func check() throws(KeyringError) {
        guard blockSize == Self.floor.blockSize, rounds.nonzeroBitCount == 1,
            (Self.floor.rounds...Self.roundLimit).contains(rounds), (1...Self.parallelismLimit).contains(parallelism)
        else {
            throw .parameters("scrypt with N \(rounds), r \(blockSize), p \(parallelism)")
        }
    }

    /// Takes some tenths of a second, and 128 bytes · N · r of memory.
    func key(of passphrase: Passphrase, salt: Data) throws -> SymmetricKey {
        try check()
        return try KDF.Scrypt.deriveKey(
            from: passphrase.bytes, salt: salt, outputByteCount: 32, rounds: rounds, blockSize: blockSize,
            parallelism: parallelism)
    }
}
