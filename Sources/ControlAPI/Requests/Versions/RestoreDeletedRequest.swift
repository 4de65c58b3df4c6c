package import Model

/// Restores an item from the trash.
package struct RestoreDeletedRequest: ControlOrder {
    package typealias Answer = RestoredItem

    package static let route = "/v1/trash/restore"
    package static let answers = #"`{"path":"…"}`: its new path"#
    package static let example = Self(item: ItemID("9412a70b-e689-458d-9757-31bd098d8086") ?? .root)
    package static let isForDashboard = true

    package var item: ItemID

    package init(item: ItemID) { self.item = item }
}

/// The answer of ``RestoreDeletedRequest``.
package struct RestoredItem: Codable, Hashable, Sendable {
    /// The path of the item now.
    package var path: String

    package init(path: String) { self.path = path }
}
