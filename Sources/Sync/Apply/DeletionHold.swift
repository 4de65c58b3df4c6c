import Model
import Replica

/// Decides whether queued deletions may be uploaded: a pure decision.
///
/// A mass delete is held until the user confirms it: more than ``countLimit`` items and more than half of the
/// container, deleted one after the other with pauses of at most ``gap``. The whole run counts, including deletions
/// that have reached the container. Once held it stays held, over time and across restarts, until it is confirmed, or
/// until so many of the deletions were undone that it no longer is a mass delete.
///
/// While a run continues none of its deletions are uploaded, so that a mass delete is held as a whole: for ``window``,
/// and with more than ``countLimit`` deletions for ``longestWait``.
package struct DeletionHold {
    /// More deletions than this may be a mass delete: 1000 items.
    static let countLimit = 1000
    /// The longest pause between two deletions of one run.
    package static let gap = Duration.seconds(30)
    /// How long a small run that continues is delayed.
    static let window = Duration.seconds(60)
    /// How long a large run that continues is delayed: as long as `rm -r` of 100,000 items may take.
    static let longestWait = Duration.seconds(3600)
    /// How long after the last deletion a run is judged as a whole.
    static let quiet = Duration.milliseconds(500)
    /// A run of more deletions than this is the beginning of something large, and waits longer: 100 items.
    static let burstCount = 100
    static let burstQuiet = Duration.seconds(2)

    enum Decision: Equatable {
        case go
        /// Look again after this time: more deletions may follow.
        case wait(Duration)
        case hold
    }

    /// - Parameters:
    ///   - deletions: In runs with pauses of at most ``gap``.
    ///   - now: By the clock of the deletions' times.
    static func decide(_ deletions: PendingDeletions, now: Timestamp) -> Decision {
        guard deletions.count > 0, let oldest = deletions.oldest, let newest = deletions.newest else {
            return .go
        }
        let all = deletions.count + deletions.leftCount
        let most = deletions.areHeld ? all : deletions.longestRun
        if most > countLimit, most * 2 > all + deletions.itemCount { return .hold }
        let age = Duration.nanoseconds(now.rawValue - newest.rawValue)
        let duration = Duration.nanoseconds(now.rawValue - oldest.rawValue)
        let quiet = deletions.count > burstCount ? burstQuiet : quiet
        let limit = deletions.lastRun > countLimit ? longestWait : window
        // After the clock was set, the age says nothing about deletions to come.
        guard age >= .zero, age < quiet, duration < limit else { return .go }
        return .wait(quiet - age)
    }

    package static func sentence(_ count: Int, mountpoint: String) -> String {
        (count == 1 ? "1 deletion is held because it affects" : "\(count) deletions are held because they affect")
            + " more than half of the container; to delete the items on all devices, run: "
            + "dewpoint confirm \(mountpoint); to restore them, run: dewpoint confirm --discard \(mountpoint)"
    }
}
