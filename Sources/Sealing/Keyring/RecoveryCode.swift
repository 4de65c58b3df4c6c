import Crypto

/// 256 random bits for paper: 56 letters and digits in groups of four, of which the last few tell mistakes in the others.
///
///     ABCD-EFGH-…      Crockford's Base32, without I, L, O and U, of 32 bytes and 3 of their SHA-256
package struct RecoveryCode: Hashable, Sendable {
    static let byteCount = 32
    private static let checkByteCount = 3
    private static let digits = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)
    private static let groupCount = 4

    let bytes: [UInt8]

    /// A new one.
    package init() {
        var generator = SystemRandomNumberGenerator()
        bytes = (0..<Self.byteCount).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }

    /// A code of two other things, for another use.
    init(halves first: ArraySlice<UInt8>, _ second: ArraySlice<UInt8>) {
        bytes = Array(first) + Array(second)
        precondition(bytes.count == Self.byteCount)
    }

    /// As it was written down: case, spaces and hyphens do not matter, nor whether it is I, L or 1, O or 0.
    ///
    /// - Returns: `nil` when a letter is wrong or missing.
    package init?(_ text: String) {
        var bits: [UInt8] = []
        for character in text.utf8 where character != UInt8(ascii: "-") && character != UInt8(ascii: " ") {
            let upper = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(character) ? character - 32 : character
            let plain: UInt8 =
                switch upper {
                case UInt8(ascii: "I"), UInt8(ascii: "L"): UInt8(ascii: "1")
                case UInt8(ascii: "O"): UInt8(ascii: "0")
                default: upper
                }
            guard let value = Self.digits.firstIndex(of: plain) else { return nil }
            bits += (0..<5).reversed().map { UInt8(value >> $0 & 1) }
        }
        guard bits.count == (Self.byteCount + Self.checkByteCount) * 8 else { return nil }
        let all = stride(from: 0, to: bits.count, by: 8).map { bits[$0..<$0 + 8].reduce(0) { $0 << 1 | $1 } }
        bytes = Array(all.prefix(Self.byteCount))
        guard Self.check(bytes) == Array(all.suffix(Self.checkByteCount)) else { return nil }
    }

    package var text: String {
        let bits = (bytes + Self.check(bytes)).flatMap { byte in (0..<8).reversed().map { byte >> $0 & 1 } }
        let letters = stride(from: 0, to: bits.count, by: 5).map { start in
            Self.digits[Int(bits[start..<start + 5].reduce(0) { $0 << 1 | $1 })]
        }
        let groups = stride(from: 0, to: letters.count, by: Self.groupCount).map {
            String(decoding: letters[$0..<$0 + Self.groupCount], as: UTF8.self)
        }
        return groups.joined(separator: "-")
    }

    private static func check(_ bytes: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: bytes).prefix(checkByteCount)) }
}
