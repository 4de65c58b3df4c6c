/// Bounds and choices for claims and presenters.
package struct ClaimLimits: Hashable, Sendable {
    /// What becomes of a claim that a presenter does not answer for.
    package enum Patience: String, Hashable, Sendable, Codable {
        /// It waits on; the presenter is marked and named.
        case wait
        /// It fails.
        case fail
        /// It goes on as if the presenter had answered.
        case skip
    }

    /// How long a presenter may take for one answer before it counts as unresponsive.
    package var presenterTimeout: Duration = .seconds(60)
    package var patience = Patience.wait
    /// How long a presenter whose process is stopped is waited for.
    package var stoppedGrace: Duration = .seconds(5)
    /// Whether the last one of a cycle is refused; else the cycle is only named.
    package var refusesDeadlocks = false
    /// Sets that hold or wait at a time, and as many name changes.
    package var sets = 4096
    package var claimsPerSet = 1024
    package var presenters = 65_536
    /// Messages that one presenter has not answered; who would add to them fails.
    package var questionsPerPresenter = 1024
    /// Cancelled coordinators that are remembered of one client.
    package var cancelledCoordinators = 4096

    package init() {}
}
