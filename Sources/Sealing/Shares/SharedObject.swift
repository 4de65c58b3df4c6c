import Foundation

/// The object that has the bytes of a shared file: `shares/UUID`.
struct SharedObject: Hashable, Sendable {
    private static let prefix = "shares/"
    private static let pageSuffix = ".html"

    let id: UUID

    /// - Returns: `nil` for other objects, the description of a share among them.
    init?(key: String) {
        guard key.utf8.starts(with: Self.prefix.utf8),
            let id = UUID(uuidString: String(key.dropFirst(Self.prefix.count)))
        else { return nil }
        self.id = id
        guard key.utf8.elementsEqual(self.key.utf8) else { return nil }
    }

    var key: String { Self.prefix + id.uuidString.lowercased() }

    /// The page that opens it in a browser, which is in plain text.
    var pageKey: String { key + Self.pageSuffix }

    /// Whether a key of the store is that of such a page.
    static func isPage(_ stored: String) -> Bool {
        stored.utf8.count > pageSuffix.utf8.count
            && stored.utf8.suffix(pageSuffix.utf8.count).elementsEqual(pageSuffix.utf8)
            && SharedObject(key: String(stored.dropLast(pageSuffix.count))) != nil
    }
}
