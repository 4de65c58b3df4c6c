import ControlAPI

/// The requests of the control API that the dashboard passes on (`ControlRequest.isForDashboard`); all others are
/// refused.
///
/// Left out are sessions, whose claims need a process of their own, what takes long without anything to show for it
/// (`check`, `gc`), and unmounting.
package struct ForwardedRoute: Sendable {
    /// Whether its answer never ends by itself.
    package let isStream: Bool

    /// For example `GET /v1/status`.
    private static let allowed = Dictionary(
        uniqueKeysWithValues: ControlRequests.all.filter { $0.isForDashboard }.map {
            ("\($0.method.rawValue) \($0.route)", ForwardedRoute(isStream: $0.isStream))
        })

    private init(isStream: Bool) { self.isStream = isStream }

    /// - Parameter path: Without the query.
    /// - Returns: `nil` for a request that is not passed on.
    package init?(method: String, path: some StringProtocol) {
        guard let known = Self.allowed["\(method) \(path)"] else { return nil }
        self = known
    }
}
