package import Model

/// What is directly in a directory, in the order of the bytes of the names.
package struct ListRequest: ControlQuestion, ItemRequest {
    package typealias Answer = DirectoryPage

    package static let route = "/v1/items"
    package static let answers =
        #"what is directly in a directory, at most 10,000 items in the order of their names: "#
        + #"`{"items":[…],"next":"z.jpg"}`. Each item is the object of `v1/items/status`; with `next` there are more, "#
        + #"see `&after=z.jpg`; `&limit=100` asks for fewer"#
    package static let example = Self(path: "Photos")
    package static let isForDashboard = true

    package var path: String
    /// ``DirectoryPage/next`` of the page before; `nil` for the first page.
    package var after: String?
    /// The most items, 1 to ``DirectoryPage/itemLimit``; `nil` for that.
    package var limit: Int?

    package init(path: String, after: String? = nil, limit: Int? = nil) {
        self.path = path
        self.after = after
        self.limit = limit
    }

    package var query: ControlQuery {
        ControlQuery([("path", path), ("after", after), ("limit", limit.map(String.init))])
    }

    package init(query: ControlQuery) throws(FileError) {
        limit = try query["limit"].map { text throws(FileError) in
            guard let number = Int(text) else { throw FileError(.invalid, "limit=\(text) is not a number of items") }
            return number
        }
        path = try query.path
        after = query["after"]
    }
}
