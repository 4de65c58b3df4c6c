/// Why the dashboard cannot be served.
package enum DashboardError: Error, Hashable, Sendable {
    case portInUse(Int)
    /// A port that only root may use.
    case portDenied(Int)
    /// An error in words.
    case failed(String)
}
