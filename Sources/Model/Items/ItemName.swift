/// One component of a path: 1 to 255 bytes of UTF-8, without `/` and NUL, and neither `.` nor `..`.
///
/// Two names are equal when their bytes are: unlike `String`, a composed and a decomposed `é` differ, as on any Linux
/// file system.
package struct ItemName: Sendable {
    package let string: String

    /// The longest name, in bytes (`NAME_MAX`).
    package static let byteLimit = 255

    /// - Throws: ``FileError`` with `nameTooLong`, `badName` or `notUTF8`.
    package init(bytes: UnsafeBufferPointer<UInt8>) throws(FileError) {
        guard let string = String(validating: bytes, as: UTF8.self) else {
            throw FileError(.notUTF8, "the name is not UTF-8")
        }
        try self.init(string)
    }

    /// - Throws: ``FileError`` with `nameTooLong` or `badName`.
    package init(_ string: String) throws(FileError) {
        let utf8 = string.utf8
        guard utf8.count <= Self.byteLimit else { throw FileError(.nameTooLong, string) }
        guard !utf8.isEmpty, string != ".", string != "..", !utf8.contains(0), !utf8.contains(UInt8(ascii: "/")) else {
            throw FileError(.badName, string)
        }
        var string = string
        string.makeContiguousUTF8()
        self.string = string
    }

    /// The bytes after the last dot, as in `pdf` of `report.pdf`; empty when there is none or the name starts with it.
    package var pathExtension: String {
        guard let dot = string.utf8.lastIndex(of: UInt8(ascii: ".")), dot != string.utf8.startIndex else { return "" }
        return String(string[string.utf8.index(after: dot)...])
    }
}

extension ItemName: ByteText, Decodable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        do {
            try self.init(try container.decode(String.self))
        } catch let error as FileError {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not an item name: \(error)")
        }
    }
}
