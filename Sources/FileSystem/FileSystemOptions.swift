import Coordination
package import Model

/// The file system's options of a mount.
package struct FileSystemOptions: Sendable, Hashable {
    /// How long the holder of a contended turn may stay without writing. Default 500 ms; 10 ms to 60 s.
    package var turnQuiet: Duration = .milliseconds(500)
    /// How long a contended turn may last in all. Default 30 s; 1 s to 1 h.
    package var turnLimit: Duration = .seconds(30)
    /// How long an operation keeps retrying while the store does not answer. Default 20 s; 1 s to 1 h.
    package var networkTimeout: Duration = .seconds(20)

    /// How long a presenter may take to answer before it counts as unresponsive. Default 60 s; 1 s to 1 h.
    package var presenterTimeout: Duration = .seconds(60)
    /// What happens to a claim whose presenter does not answer.
    package var presenterPatience = PresenterPatience.wait
    /// Whether the claim that completes a deadlock is refused; otherwise the deadlock is only logged.
    package var refusesDeadlocks = false

    /// Programs that may not download by reading; this includes their child processes. Default none.
    ///
    /// `PROGRAM`, as in `/proc/PID/comm` (a longer name is cut to its 15 bytes), or `PROGRAM/ARGUMENT` for a program
    /// started with an argument that is `ARGUMENT` or ends in `/ARGUMENT`, or `PROGRAM#THREAD` for one thread of it, by
    /// its name in `/proc/PID/task/TID/comm`; see ``ProgramNames`` about threads of a pool.
    package var nonDownloadingPrograms: [String] = []

    /// Fast paths that are turned off. Default none.
    package var off: Set<FastPath> = []

    /// How many files and bytes a process group may download by reading within a minute before its reads are held.
    /// Default no limit.
    package var stormFileLimit: Int?
    package var stormByteLimit: Int64?

    /// Limits on downloaded bytes. Default no limit.
    package var cacheLimits = CacheLimits()

    /// Patterns of new items that stay on this machine, after the usual ones; see ``IgnorePatterns``. Default none.
    package var ignoredPatterns: [String] = []

    /// How long a file may be written without a pause before a copy of it is uploaded, and how often from then on. Default
    /// 300 s; 10 s to 24 h.
    package var busyUploadInterval = Duration.seconds(300)

    /// Whether the mount refuses changes (`ro`). Default no.
    package var isReadOnly = false

    /// Why the store refuses every write of this device, in a sentence; `nil` when it does not. Default `nil`.
    package var storeRefusal: String?

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
