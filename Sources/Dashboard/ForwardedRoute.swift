import ControlAPI

/// The requests of the control API that the dashboard passes on; all others are refused.
///
/// Left out are sessions, whose claims need a process of their own, what takes long without anything to show for it
/// (`check`, `gc`), and unmounting.
package struct ForwardedRoute: Hashable, Sendable {
    /// For example `GET /v1/status`.
    private let text: String
    package let path: String
    /// Whether its answer never ends by itself.
    package let isStream: Bool

    private static let gets: [ControlRoute] = [
        .status, .itemStatus, .list, .downloadProgress, .transfers, .versions, .conflicts, .trash, .locks, .devices,
        .log,
        .link, .events, .follow,
    ]
    private static let posts: [ControlRoute] = [
        .download, .cancelDownload, .evict, .pin, .resolve, .restoreVersion, .restoreDeleted, .pause, .answerDeletions,
        .sync, .answerStorm, .breakClaim, .link,
    ]
    private static let allowed = Set(gets.map { "GET \($0.path)" } + posts.map { "POST \($0.path)" })

    /// - Parameter path: Without the query.
    /// - Returns: `nil` for a request that is not passed on.
    package init?(method: String, path: some StringProtocol) {
        text = "\(method) \(path)"
        guard Self.allowed.contains(text) else { return nil }
        self.path = String(path)
        isStream = method == "GET" && [ControlRoute.events.path, ControlRoute.follow.path].contains(self.path)
    }
}
