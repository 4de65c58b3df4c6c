/// The items of one directory, or a part of them: the answer of ``ListRequest``.
package struct DirectoryPage: Hashable, Sendable, Codable {
    /// In the order of the bytes of their names; nothing of what is in the directories among them.
    package var items: [ItemStatus]
    /// The last name of the page: the next page starts after it. `nil` at the end of the directory.
    package var next: String?

    /// The most items of one page, and their number when a request gives none.
    package static let itemLimit = 10_000

    package init(items: [ItemStatus], next: String?) {
        self.items = items
        self.next = next
    }
}
