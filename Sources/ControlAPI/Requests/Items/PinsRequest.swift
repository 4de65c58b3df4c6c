package import Model

/// The items that were pinned or unpinned one by one.
package struct PinsRequest: PlainQuestion {
    package typealias Answer = [PinnedItem]

    package static let route = "/v1/pins"
    package static let answers =
        "a list: `path`, and `pinned`, false for an item that was unpinned in a pinned directory"

    package init() {}
}
