import Foundation
import Model

/// A link to a file of an encrypted container.
///
///     PAGE#2.KEY.NAME?CHANGES
///     https://notes.s3.example.com/shares/5b0e….html?X-Amz-…#2.3q2-7w….report.pdf?response-content-type=&X-Amz-Signature=…
///
/// - PAGE: a link to the page, `shares/UUID.html`, as the store signed it. What follows it never leaves the browser.
/// - KEY: the ``ShareKey``. NAME: the file's, percent-encoded.
/// - CHANGES: how the query of the link to the bytes, which are beside the page without `.html`, differs from the page's:
///   parameters with other values, and, with an empty value, those that it does not have. So the page is the same for all
///   shares, nothing is written to make a link again, and `dewpoint open-share` needs no page.
package struct ShareLink: Sendable {
    package enum Fault: Error, Hashable, Sendable {
        /// Not a link of an encrypted container.
        case plain
        /// The page of one, without what follows the `#`.
        case noFragment
        case otherVersion
        /// Something is missing, as when a part was lost in a message.
        case damaged
    }

    private static let version = "2."
    private static let pageSuffix = ".html"
    /// Such a link has less than 4 KiB; with credentials for a time it is longer: 16 KiB.
    private static let byteLimit = 16 << 10

    /// Where the sealed bytes are.
    package let bytesURL: String
    package let key: ShareKey
    /// As the link says: not to be trusted.
    package let fileName: String

    package init(parsing text: String) throws(Fault) {
        guard text.utf8.count <= Self.byteLimit, text.utf8.allSatisfy({ 0x21..<0x7f ~= $0 }) else { throw .damaged }
        guard let (page, fragment) = Self.split(text, "#"), !fragment.isEmpty else {
            // What a plain container shares has no such name.
            let page = Self.split(text, "#")?.0 ?? Substring(text)
            let place = Self.split(page, "?")?.0 ?? page
            throw place.hasSuffix(Self.pageSuffix) && place.contains("/shares/") ? .noFragment : .plain
        }
        guard fragment.hasPrefix(Self.version) else {
            throw fragment.first?.isNumber == true && fragment.contains(".") ? .otherVersion : .plain
        }
        guard let (place, query) = Self.split(page, "?"), place.hasSuffix(Self.pageSuffix),
            let (keyText, rest) = Self.split(fragment.dropFirst(Self.version.count), "."),
            let key = ShareKey(text: keyText), let (name, changes) = Self.split(rest, "?"),
            let fileName = String(percentDecoding: name)
        else { throw .damaged }
        self.key = key
        self.fileName = fileName
        bytesURL = "\(place.dropLast(Self.pageSuffix.count))?\(Self.apply(changes, to: query))"
    }

    /// - Parameters:
    ///   - page: A link to the page.
    ///   - bytes: A link to the bytes.
    /// - Returns: `nil` when the two are not beside each other.
    static func text(page: String, bytes: String, key: ShareKey, fileName: String) -> String? {
        guard let (pagePlace, pageQuery) = split(page[...], "?"), let (bytesPlace, bytesQuery) = split(bytes[...], "?"),
            pagePlace == bytesPlace + pageSuffix,
            let name = fileName.addingPercentEncoding(withAllowedCharacters: plain)
        else { return nil }
        return "\(page)#\(version)\(key.text).\(name)?\(changes(from: pageQuery, to: bytesQuery))"
    }

    /// What needs no encoding in a URI.
    private static let plain = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")

    private static func split(_ text: some StringProtocol, _ mark: Character) -> (Substring, Substring)? {
        let text = Substring(text)
        return text.firstIndex(of: mark).map { (text[..<$0], text[text.index(after: $0)...]) }
    }

    /// Texts of parameters, as they stand in a query.
    private static func parameters(_ query: Substring) -> [(name: Substring, text: Substring)] {
        query.split(separator: "&").map { (split($0, "=")?.0 ?? $0, $0) }
    }

    private static func changes(from page: Substring, to bytes: Substring) -> String {
        let (before, after) = (parameters(page), parameters(bytes))
        let removed = before.filter { old in !after.contains { $0.name == old.name } }.map { "\($0.name)=" }
        let changed = after.filter { new in !before.contains { $0.text == new.text } }.map { String($0.text) }
        // What cannot be missing without being noticed comes last.
        return (removed + changed).joined(separator: "&")
    }

    private static func apply(_ changes: Substring, to query: Substring) -> String {
        let changes = parameters(changes)
        let kept = parameters(query).filter { old in !changes.contains { $0.name == old.name } }
        let set = changes.filter { split($0.text, "=").map { !$0.1.isEmpty } ?? false }
        return (kept + set).map(\.text).joined(separator: "&")
    }
}
