import Crypto
package import Foundation

/// A commit in words that two people can compare: whoever has seen the same commit has seen the same history, as each
/// commit has the hash of the one before.
///
///     commit 42: lusab-babad-gutih-tugad-mudof-sakat
///
/// Each word has 16 bits (proquints, arXiv:0901.4016). Six of them are 96 bits of a hash: too many for anybody to make
/// two histories with the same words.
package struct Checkpoint: Sendable {
    private static let wordCount = 6
    private static let consonants = Array("bdfghjklmnprstvz".utf8)
    private static let vowels = Array("aiou".utf8)
    private static let purpose = Array("dewpoint checkpoint v2".utf8) + [0]

    package let number: UInt64
    package let words: [String]

    package init(_ entry: SealedHistory.Entry, of container: UUID) {
        self.init(commit: entry.number, hash: entry.hash, of: container)
    }

    /// - Parameter hash: The SHA-256 of the commit's sealed object.
    init(commit number: UInt64, hash: Data, of container: UUID) {
        self.number = number
        let statement =
            Self.purpose + container.bytes + withUnsafeBytes(of: number.bigEndian) { Array($0) } + Array(hash)
        let bytes = Array(SHA256.hash(data: statement).prefix(2 * Self.wordCount))
        words = stride(from: 0, to: bytes.count, by: 2).map { place in
            Self.word(UInt16(bytes[place]) << 8 | UInt16(bytes[place + 1]))
        }
    }

    private static func word(_ number: UInt16) -> String {
        let letters = [
            consonants[Int(number >> 12)], vowels[Int(number >> 10 & 3)], consonants[Int(number >> 6 & 15)],
            vowels[Int(number >> 4 & 3)], consonants[Int(number & 15)],
        ]
        return String(decoding: letters, as: UTF8.self)
    }
}
