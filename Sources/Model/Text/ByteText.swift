/// Text that identifies something: equal, ordered and hashed by its bytes.
///
/// A `String` is compared by canonical equivalence, so that a composed and a decomposed `é` are one, and is split and
/// searched by characters, so that a `/` before a combining mark is no `/`. A file system does neither: what names an
/// item, an attribute or a device here is of one of these types wherever it is compared or is a key.
package protocol ByteText: Hashable, Comparable, Sendable, CustomStringConvertible, Encodable {
    var string: String { get }
}

extension ByteText {
    package static func == (left: Self, right: Self) -> Bool { left.string.utf8.elementsEqual(right.string.utf8) }

    package static func < (left: Self, right: Self) -> Bool {
        left.string.utf8.lexicographicallyPrecedes(right.string.utf8)
    }

    package func hash(into hasher: inout Hasher) {
        for byte in string.utf8 { hasher.combine(byte) }
        // No byte of UTF-8: ends the text.
        hasher.combine(UInt8.max)
    }

    package var description: String { string }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(string)
    }
}

/// Such text of which every value is valid; where it has rules, they are checked elsewhere.
package protocol PlainByteText: ByteText, Decodable, ExpressibleByStringLiteral {
    init(_ string: String)
}

extension PlainByteText {
    package init(stringLiteral value: String) { self.init(value) }

    package init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode(String.self))
    }
}
