package import Model

/// Items that were deleted and can be restored, the latest deletion first.
package struct TrashRequest: PlainQuestion {
    package typealias Answer = [DeletedItem]

    package static let route = "/v1/trash"
    package static let answers = "a list: `item`, `path`, `kind`, `size`, `deleted`; each item on a line of its own"
    package static let isForDashboard = true

    package init() {}
}
