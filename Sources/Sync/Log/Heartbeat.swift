import Logging
package import Model
import Replica
import Synchronization

/// The promises of devices to commit again within a time, so that a store which keeps back the newest commits is noticed.
///
///     this device     nothing was committed for the promised time: an empty commit is
///     other devices   nothing arrived for twice the time that one promised, although the log was read to its end:
///                     it is overdue, since it is off, or the store withholds what it commits
package final class Heartbeat: Sendable {
    /// A device that has not kept its promise.
    package typealias Overdue = ContainerStatus.OverdueDevice

    /// The longest pause between two looks at the clock, which may be changed: 60 s.
    static let look = Duration.seconds(60)
    /// For how long after its last commit a device is reported: then it counts as gone. 30 days, or three times what it
    /// promised.
    static let memory = Duration.seconds(30 * 86_400)

    private let session: LogSession
    private let overdueDevices = Mutex<[Overdue]>([])

    private var context: SyncContext { session.context }
    private var environment: EngineEnvironment { session.context.environment }

    init(session: LogSession) { self.session = session }

    /// The devices that have not kept their promises, as of the last time that the log was read to its end.
    package var overdue: [Overdue] { overdueDevices.withLock(\.self) }

    /// Keeps this device's promise until cancelled; nothing without one.
    func run() async {
        guard let interval = context.heartbeat else { return }
        while !Task.isCancelled {
            do {
                let rest = try rest(of: interval)
                if rest <= .zero { try await send() }
                try await environment.sleep(rest > .zero ? min(rest, Self.look) : Uploader.retryLimit)
            } catch is CancellationError {
                return
            } catch {
                // The uploader and the follower say what is wrong with the store.
                context.logger.debug("no heartbeat", metadata: ["error": "\(error)"])
                try? await environment.sleep(Uploader.retryLimit)
            }
        }
    }

    /// How long until this device must commit something.
    private func rest(of interval: Duration) throws(FileError) -> Duration {
        let (device, now) = (context.replica.device, environment.now())
        guard let last = try context.replica.read({ try $0.heartbeats() }).first(where: { $0.device == device }) else {
            return .zero
        }
        return min(interval, interval - .nanoseconds(now.rawValue - last.time.rawValue))
    }

    private func send() async throws {
        guard try !context.replica.read({ try $0.isContainerPaused() }) else { return }
        _ = try await session.append {
            LogSession.Draft()
        } landed: { commit in
            try context.replica.change { transaction in
                try transaction.setCommitTime(commit.time)
                try transaction.rememberDevice(of: commit)
                try transaction.setApplied(commit.sequence, nonce: commit.nonce, time: commit.time)
            }
        }
    }

    /// Looks for devices that are overdue, when the log was read to its end.
    func judge() throws(FileError) {
        let (own, now) = (context.replica.device, environment.now())
        let found = try context.replica.read { rows in
            try rows.heartbeats().filter { $0.device != own && Self.isOverdue($0, now: now) }.map { promise in
                Overdue(
                    device: promise.device, name: try rows.deviceName(promise.device) ?? "",
                    last: promise.time.rfc3339, seconds: promise.seconds)
            }
        }
        let before = overdueDevices.withLock { overdue in
            defer { overdue = found }
            return overdue
        }
        for device in found where !before.contains(device) { context.logger.warning("\(device.sentence)") }
        if found != before { context.activity.noteProgress() }
    }

    private static func isOverdue(_ promise: HeartbeatPromise, now: Timestamp) -> Bool {
        let interval = Duration.seconds(promise.seconds)
        let age = Duration.nanoseconds(now.rawValue - promise.time.rawValue)
        return age > interval * 2 && age < max(memory, interval * 3)
    }
}
