// Which of the two C modules `timespec` belongs to depends on which is loaded first.
import CDispatch
import FileSystem
import Foundation
import Glibc
import Model
import Replica
import Sync
import Transfer

extension EngineEnvironment {
    /// This machine's clock and randomness.
    static let system = EngineEnvironment(
        now: {
            // The clock from which the disk takes its times: with a finer one, a file would be older after its first
            // write than at its creation.
            var time = timespec()
            clock_gettime(CLOCK_REALTIME_COARSE, &time)
            return DiskClock.shared.time(
                atTick: Timestamp(seconds: Int64(time.tv_sec), nanoseconds: Int64(time.tv_nsec)))
        },
        uptime: { [start = ContinuousClock.now] in ContinuousClock.now - start },
        sleep: { duration throws(CancellationError) in
            do {
                try await Task.sleep(for: duration)
            } catch {
                throw CancellationError()
            }
        },
        makeUUID: {
            // Not UUID(), which opens a file each time.
            var generator = SystemRandomNumberGenerator()
            return UUID.random(using: &generator)
        })
}
