package import Model

/// Who has claims and locks, and who waits for them.
package struct LocksRequest: PlainQuestion {
    package typealias Answer = [LockListing]

    package static let route = "/v1/locks"
    package static let answers = "a list of items: `holders`, `waiters`, `presenters`"
    package static let isForDashboard = true

    package init() {}
}
