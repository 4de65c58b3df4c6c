package import Model

/// The bytes of a version.
package struct VersionContentRequest: ControlQuestion, ItemRequest {
    package typealias Answer = RawBytes

    package static let route = "/v1/items/versions/content"
    package static let answers =
        "the bytes of a version, verified, as `application/octet-stream`; 503 `unreachable` when they are not local "
        + "and the store does not answer"
    package static let example = Self(path: "a.txt", id: "commit-1")
    package static let isStream = true

    package var path: String
    /// The id of an ``ItemVersion``.
    package var id: String

    package init(path: String, id: String) {
        self.path = path
        self.id = id
    }

    package var query: ControlQuery { ControlQuery([("path", path), ("id", id)]) }

    package init(query: ControlQuery) throws(FileError) {
        guard let id = query["id"] else {
            throw FileError(.invalid, "the query must be path=…&id=…, percent-encoded")
        }
        self.init(path: try query.path, id: id)
    }
}
