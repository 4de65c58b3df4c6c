package import Foundation

/// JSON that another program wrote: what a store has, a client sends or a state directory keeps.
package enum ForeignJSON {
    /// How deep its objects and lists may be nested. No format of ours needs ten, but whoever adds members decides.
    ///
    /// Foundation's decoder ends the process at a text that ends with the 513th bracket open.
    package static let depthLimit = 500

    /// - Throws: `DecodingError`, also for what is nested deeper.
    package static func decode<Value: Decodable>(_ type: Value.Type, from text: Data) throws -> Value {
        try check(text)
        return try JSONDecoder().decode(type, from: text)
    }

    /// - Throws: `DecodingError` for what is not UTF-8, and for what is nested deeper than ``depthLimit``.
    package static func check(_ text: Data) throws {
        // Foundation takes UTF-16 and UTF-32 too, in which the bytes of a quote may be a part of another character.
        if text.contains(0) { throw corrupted("not UTF-8") }
        if isTooDeep(text) { throw corrupted("nested deeper than \(depthLimit)") }
    }

    private static func corrupted(_ sentence: String) -> DecodingError {
        DecodingError.dataCorrupted(DecodingError.Context(codingPath: [], debugDescription: sentence))
    }

    private static func isTooDeep(_ text: Data) -> Bool {
        var (depth, isInString, isEscaped) = (0, false, false)
        for byte in text {
            if isEscaped {
                isEscaped = false
            } else if isInString {
                isEscaped = byte == UInt8(ascii: "\\")
                isInString = byte != UInt8(ascii: "\"")
            } else {
                switch byte {
                case UInt8(ascii: "\""): isInString = true
                case UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
                case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
                default: break
                }
                if depth > depthLimit { return true }
            }
        }
        return false
    }
}
