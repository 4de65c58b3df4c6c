/// Bounds and choices for claims and presenters.
package struct ClaimLimits: Hashable, Sendable {
    /// What happens to a claim when a presenter does not answer.
    package enum Patience: String, CaseIterable, Hashable, Sendable, Codable {
        /// It keeps waiting; the presenter is marked and logged.
        case wait
        /// It fails.
        case fail
        /// It proceeds as if the presenter had answered.
        case skip
    }

    /// How long a presenter may take for one answer before it counts as unresponsive.
    package var presenterTimeout: Duration = .seconds(60)
    package var patience = Patience.wait
    /// How long to wait for a presenter whose process is stopped.
    package var stoppedGrace: Duration = .seconds(5)
    /// Whether the last set of a deadlock is refused; otherwise the deadlock is only logged.
    package var refusesDeadlocks = false
    /// Sets held or waiting at a time; the same bound applies to name changes.
    package var sets = 4096
    package var claimsPerSet = 1024
    package var presenters = 65_536
    /// Unanswered messages of one presenter; a set that would add to them fails.
    package var questionsPerPresenter = 1024
    /// Remembered cancelled coordinators of one client.
    package var cancelledCoordinators = 4096

    package init() {}
}
