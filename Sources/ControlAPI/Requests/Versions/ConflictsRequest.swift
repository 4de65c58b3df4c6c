package import Model

/// The items with conflict versions.
package struct ConflictsRequest: PlainQuestion {
    package typealias Answer = [ConflictedItem]

    package static let route = "/v1/conflicts"
    package static let answers = "a list: `path`, and `versions`, the current one first"
    package static let isForDashboard = true

    package init() {}
}
