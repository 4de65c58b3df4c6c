/// The lists in mount options: options between commas, and what one option lists between colons. A backslash makes a
/// separator, or a backslash, part of a text.
///
/// Separators are bytes: one that is followed by a combining mark is one all the same.
enum OptionList {
    private static let backslash = UInt8(ascii: "\\")
    private static let special = Array(":,\\".utf8)

    /// The list of an option, which ``parts(of:at:)`` and ``plain(_:)`` read back as it was.
    static func text(_ items: [String]) -> String {
        items.map { item in
            String(decoding: item.utf8.flatMap { special.contains($0) ? [backslash, $0] : [$0] }, as: UTF8.self)
        }.joined(separator: ":")
    }

    /// The parts between separators; one behind a backslash is none.
    static func parts(of text: String, at separator: Unicode.Scalar) -> [String] {
        var parts: [[UInt8]] = [[]]
        var isEscaped = false
        for byte in text.utf8 {
            if byte == UInt8(ascii: separator), !isEscaped {
                parts.append([])
            } else {
                parts[parts.count - 1].append(byte)
            }
            isEscaped = byte == backslash && !isEscaped
        }
        return parts.map { String(decoding: $0, as: UTF8.self) }
    }

    /// Without the backslashes of such a list; those in front of other characters belong to the text.
    static func plain(_ text: String) -> String {
        var plain: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == backslash, let next = rest.first, special.contains(next) {
                plain.append(next)
                rest.removeFirst()
            } else {
                plain.append(byte)
            }
        }
        return String(decoding: plain, as: UTF8.self)
    }
}
