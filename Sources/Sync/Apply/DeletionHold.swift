import Model
import Replica

/// Whether the deletions that wait may go out: a pure decision.
///
/// A mass delete is held until somebody confirms it: more than ``countLimit`` items and more than half of the container, deleted one after the
/// other with pauses of at most ``gap``. It is told by the whole run, also by what of it has reached the container. Once held it stays so,
/// also when time goes by and across restarts, until it is confirmed, or so much of it was taken back that it is none any more.
///
/// While deletions go on nothing of them leaves, so that one that turns out to be a mass delete is held as a whole: for ``window``, and once
/// there are more than ``countLimit`` for ``longestWait``.
package struct DeletionHold {
    /// More deletions than that may be a mass delete: 1000 items.
    static let countLimit = 1000
    /// The longest pause between two deletions that are judged together.
    package static let gap = Duration.seconds(30)
    /// How long a few deletions that go on wait for their end.
    static let window = Duration.seconds(60)
    /// How long many deletions that go on wait for their end: as long as `rm -r` of 100,000 items may take.
    static let longestWait = Duration.seconds(3600)
    /// How long there must have been no deletion before those that wait are judged, as a whole.
    static let quiet = Duration.milliseconds(500)
    /// More deletions than that are the beginning of something large, and wait longer: 100 items.
    static let burstCount = 100
    static let burstQuiet = Duration.seconds(2)

    enum Decision: Equatable {
        case go
        /// Look again after a while: more of them may be coming.
        case wait(Duration)
        case hold
    }

    /// - Parameters:
    ///   - deletions: In runs with pauses of at most ``gap``.
    ///   - now: By the clock that the deletions' times are of.
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
        // A clock that was set says nothing about what comes.
        guard age >= .zero, age < quiet, duration < limit else { return .go }
        return .wait(quiet - age)
    }

    package static func sentence(_ count: Int, mountpoint: String) -> String {
        "\(count) deletions are held: they are more than half of the container; to delete the items everywhere, run: "
            + "dewpoint confirm \(mountpoint); to bring them back: dewpoint confirm --discard \(mountpoint)"
    }
}
