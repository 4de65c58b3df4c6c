/// Bytes as lower-case hex digits.
enum Hex {
    static func text(_ bytes: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        for byte in bytes { text += [digits[Int(byte >> 4)], digits[Int(byte & 15)]] }
        return String(decoding: text, as: UTF8.self)
    }

    /// - Returns: `nil` for text that is not hex.
    static func bytes(_ text: String) -> [UInt8]? {
        let digits = text.compactMap(\.hexDigitValue).map { UInt8($0) }
        guard digits.count == text.count, digits.count.isMultiple(of: 2) else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    private static let digits = Array("0123456789abcdef".utf8)
}
