import Foundation
import Model

/// The query of a request: fields such as `path=` and a path, with everything but ASCII letters, digits and `-._~/` as
/// `%HH`. A `+` is a literal plus sign.
package struct ControlQuery: Hashable, Sendable {
    /// Without the `?`.
    package let text: String

    /// - Parameter fields: Those without a value are left out.
    package init(_ fields: [(name: String, value: String?)] = []) {
        text = fields.compactMap { name, value in value.map { "\(name)=\(Self.encoded($0))" } }.joined(separator: "&")
    }

    /// - Parameter target: A request target, for example `/v1/items/status?path=a%20b`.
    package init(target: some StringProtocol) {
        let mark = target.utf8.firstIndex(of: UInt8(ascii: "?"))
        text = mark.map { String(decoding: target.utf8[target.utf8.index(after: $0)...], as: UTF8.self) } ?? ""
    }

    /// - Returns: `nil` when there is no such field, or it is not UTF-8.
    package subscript(name: String) -> String? {
        let fields = text.utf8.split(separator: UInt8(ascii: "&"))
        guard let field = fields.first(where: { $0.starts(with: "\(name)=".utf8) }) else { return nil }
        return String(percentDecoding: Substring(decoding: field.dropFirst(name.utf8.count + 1), as: UTF8.self))
    }

    /// - Throws: ``FileError`` with `invalid` when there is none.
    package var path: String {
        get throws(FileError) {
            guard let path = self["path"] else {
                throw FileError(.invalid, "the query must be path=…, below the container's root, percent-encoded")
            }
            return path
        }
    }

    /// A value of a query, or of a path.
    package static func encoded(_ value: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var text: [UInt8] = []
        for byte in value.utf8 {
            if unreserved.contains(byte) {
                text.append(byte)
            } else {
                text += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static let unreserved = Set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/".utf8)
}
