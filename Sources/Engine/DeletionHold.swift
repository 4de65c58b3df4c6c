import Model
import Replica

/// Whether the deletions that wait may go out: a pure decision.
///
/// A mass delete is held until somebody confirms it: more than ``countLimit`` items and more than half of the container, within
/// ``window``. Once held it stays so, also when time goes by and across restarts, until it is confirmed, or so much of it was taken
/// back that it is none any more.
struct DeletionHold {
    /// More deletions than that may be a mass delete: 1000 items.
    static let countLimit = 1000
    /// The time within which they must have been made.
    static let window = Duration.seconds(60)
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
    ///   - deletions: Counted within ``window``.
    ///   - now: By the clock that the deletions' times are of.
    static func decide(_ deletions: PendingDeletions, now: Timestamp) -> Decision {
        if deletions.count > countLimit {
            let most = deletions.areHeld ? deletions.count : deletions.peak
            if most > countLimit, most * 2 > deletions.count + deletions.itemCount { return .hold }
        }
        guard deletions.count > 0, let oldest = deletions.oldest, let newest = deletions.newest else {
            return .go
        }
        let age = Duration.nanoseconds(now.rawValue - newest.rawValue)
        let duration = Duration.nanoseconds(now.rawValue - oldest.rawValue)
        let quiet = deletions.count > burstCount ? burstQuiet : quiet
        // A clock that was set says nothing about what comes.
        guard age >= .zero, age < quiet, duration < window else { return .go }
        return .wait(quiet - age)
    }

    static func sentence(_ count: Int, mountpoint: String) -> String {
        "\(count) deletions are held: they are more than half of the container; to delete the items everywhere, run: "
            + "dewpoint confirm \(mountpoint); to bring them back: dewpoint confirm --discard \(mountpoint)"
    }
}
