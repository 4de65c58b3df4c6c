import Coordination
package import Model

/// What a mount may set.
package struct FileSystemOptions: Sendable, Hashable {
    /// How long the holder of a turn that someone waits for may write nothing. Default 500 ms; 10 ms to 60 s.
    package var turnQuiet: Duration = .milliseconds(500)
    /// How long a turn that someone waits for may last in all. Default 30 s; 1 s to 1 h.
    package var turnLimit: Duration = .seconds(30)
    /// How long an operation that needs the store goes on trying while the store does not answer. Default 20 s; 1 s to 1 h.
    package var networkTimeout: Duration = .seconds(20)

    /// How long a presenter may take for an answer before it counts as unresponsive. Default 60 s; 1 s to 1 h.
    package var presenterTimeout: Duration = .seconds(60)
    /// What becomes of a claim whose presenter does not answer.
    package var presenterPatience = PresenterPatience.wait
    /// Whether the last one of those who wait for each other in a circle is refused; else the circle is only named.
    package var refusesDeadlocks = false

    /// Programs that may not download by reading, nor may what they start. Default none.
    ///
    /// `PROGRAM`, as `/proc/PID/comm` has it (a longer name is cut to its 15 bytes), or `PROGRAM/ARGUMENT` for one that was started
    /// with an argument that is `ARGUMENT` or ends in `/ARGUMENT`.
    package var nonDownloadingPrograms: [String] = []

    /// Fast paths that are turned off. Default none.
    package var off: Set<FastPath> = []

    /// How many files, and how many bytes, a process group may ask for within a minute by reading before it is held. Default no limit.
    package var stormFileLimit: Int?
    package var stormByteLimit: Int64?

    /// What downloaded bytes may take. Default no limit.
    package var cacheLimits = CacheLimits()

    package enum PresenterPatience: String, Sendable, Hashable, CaseIterable { case wait, fail, skip }

    package init() {}
}

extension FileSystemOptions {
    var lockLimits: LockTable.Limits {
        var limits = LockTable.Limits(quiet: turnQuiet, turn: turnLimit)
        limits.claims.presenterTimeout = presenterTimeout
        limits.claims.patience =
            switch presenterPatience {
            case .wait: .wait
            case .fail: .fail
            case .skip: .skip
            }
        limits.claims.refusesDeadlocks = refusesDeadlocks
        return limits
    }
}
