/// The encoding of bytes in a URL that S3's signatures require: everything but letters, digits, `-`, `.`, `_` and `~`
/// becomes `%HH`, with capital hex digits.
///
/// Source: "Create a signed AWS API request", function `UriEncode`.
enum PercentEncoding {
    /// - Parameter keepingSlashes: For a path, whose slashes separate its components.
    static func encode(_ text: String, keepingSlashes: Bool = false) -> String {
        var encoded: [UInt8] = []
        for byte in text.utf8 {
            if isUnreserved(byte) || keepingSlashes && byte == UInt8(ascii: "/") {
                encoded.append(byte)
            } else {
                encoded += [UInt8(ascii: "%"), hexDigits[Int(byte >> 4)], hexDigits[Int(byte & 15)]]
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }

    private static let hexDigits = Array("0123456789ABCDEF".utf8)
}
