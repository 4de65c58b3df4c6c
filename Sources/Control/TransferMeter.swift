import Model
import Synchronization

/// Measures how fast transfers are: over the last seconds, or since its start for one that is measured the first time.
///
/// It is fed by those who ask: a transfer about which nobody asks costs nothing.
final class TransferMeter: Sendable {
    /// How far back a speed reaches.
    static let window = Duration.seconds(5)
    /// The least time between two samples of a transfer, so that it keeps at most 25.
    static let spacing = Duration.milliseconds(200)

    struct Key: Hashable {
        var direction: Transfer.Direction
        var inode: InodeNumber
    }

    /// What is known of a transfer under way.
    struct Reading {
        var byteCount: Int64
        var bytesDone: Int64
        /// When it began, and how much was done then.
        var began: Duration
        var bytesAtBegin: Int64
    }

    private struct Sample {
        var time: Duration
        var bytesDone: Int64
    }

    private let samples = Mutex<[Key: [Sample]]>([:])

    /// The speeds in bytes per second. Transfers that are not in `readings` are forgotten.
    func speeds(_ readings: [Key: Reading], now: Duration) -> [Key: Double] {
        samples.withLock { samples in
            samples = samples.filter { readings[$0.key] != nil }
            var speeds: [Key: Double] = [:]
            for (key, reading) in readings {
                var known = samples[key] ?? [Sample(time: reading.began, bytesDone: reading.bytesAtBegin)]
                // One sample from before the window stays as long as none within it is old enough.
                while known.count > 1, now - known[1].time >= Self.window { known.removeFirst() }
                let first = known[0]
                let seconds = max((now - first.time) / .seconds(1), Self.spacing / .seconds(1))
                speeds[key] = Double(max(reading.bytesDone - first.bytesDone, 0)) / seconds
                if known.last.map({ now - $0.time >= Self.spacing }) ?? true {
                    known.append(Sample(time: now, bytesDone: reading.bytesDone))
                }
                samples[key] = known
            }
            return speeds
        }
    }
}
