import Foundation
import Model

/// The query of a GET request about one item: `path=` and the path, with everything but ASCII letters, digits and
/// `-._~/` as `%HH`. A `+` is a literal plus sign.
package enum ControlQuery {
    package static func text(path: String) -> String { "path=\(encoded(path))" }

    /// The query of ``ControlRoute/versionContent``.
    package static func text(path: String, version: String) -> String {
        "path=\(encoded(path))&id=\(encoded(version))"
    }

    /// The query of ``ControlRoute/list``.
    package static func text(path: String, after name: String?, limit: Int?) -> String {
        text(path: path) + (name.map { "&after=\(encoded($0))" } ?? "") + (limit.map { "&limit=\($0)" } ?? "")
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

    /// - Parameter target: A request target, for example `/v1/items/status?path=a%20b`.
    /// - Returns: `nil` when there is no `path=`, or it is not UTF-8.
    package static func path(in target: some StringProtocol) -> String? { value("path", in: target) }

    /// - Returns: `nil` when there is no `id=`, or it is not UTF-8.
    package static func version(in target: some StringProtocol) -> String? { value("id", in: target) }

    /// - Returns: `nil` when there is no `after=`, or it is not UTF-8.
    package static func after(in target: some StringProtocol) -> String? { value("after", in: target) }

    /// - Returns: `nil` when there is no `limit=`.
    package static func limit(in target: some StringProtocol) -> String? { value("limit", in: target) }

    /// - Returns: `nil` when there is no `lines=`.
    package static func lines(in target: some StringProtocol) -> String? { value("lines", in: target) }

    private static func value(_ name: String, in target: some StringProtocol) -> String? {
        guard let mark = target.utf8.firstIndex(of: UInt8(ascii: "?")) else { return nil }
        let fields = target.utf8[target.utf8.index(after: mark)...].split(separator: UInt8(ascii: "&"))
        guard let field = fields.first(where: { $0.starts(with: "\(name)=".utf8) }) else { return nil }
        return String(percentDecoding: Substring(decoding: field.dropFirst(name.utf8.count + 1), as: UTF8.self))
    }

    private static let unreserved = Set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/".utf8)
}
