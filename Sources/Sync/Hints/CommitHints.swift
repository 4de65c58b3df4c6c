package import Model
package import Remote
import Replica
import Synchronization

/// What devices tell each other of commits besides the store, and what a store that calls this device tells it.
///
///     own commit landed  → announcements → datagrams to other devices
///     hint of another    → received      → the follower looks at the log now
///     call of the store  → notified      →
///
/// A hint moves nothing but the time of the next look. While hints are reliable, an idle device asks the store less often.
package final class CommitHints: Sendable {
    /// How often a device says that it is there while it commits nothing: 20 s.
    package static let aliveInterval = Duration.seconds(20)
    /// Of how many commits it is remembered that the store has called about them.
    private static let calledLimit = 64

    private struct State {
        var peers = HintPeers()
        var pace = HintPace()
        /// The commits that the store has called about, the last ones. Anybody may call: so each counts for itself alone.
        var called: [CommitNumber] = []
        /// When the look is due that hints ask for.
        var lookAt: Duration?
        var wasHinted = false
        /// Those of the own hints rise, even where the clock is set back.
        var lastTime = Timestamp(rawValue: .min)
        var unavailable: String?
    }

    private let replica: Replica
    private let environment: EngineEnvironment
    private let state = Mutex(State())
    private let wanted = Signal()
    private let landed = Signal()

    init(_ context: SyncContext) {
        replica = context.replica
        environment = context.environment
    }

    /// Why devices in the network cannot be told or heard; `nil` when they can.
    package var unavailable: String? {
        get { state.withLock(\.unavailable) }
        set { state.withLock { $0.unavailable = newValue } }
    }

    // MARK: Telling

    /// A commit of this device is in the log.
    func noteLanded() { landed.raise() }

    /// How many commits of this device are in the log since the start: see ``waitForCommit(since:)``.
    package var landedCount: UInt64 { landed.turn }

    /// Returns when this device has made a commit since that count, and at the latest when it is to say that it is there.
    package func waitForCommit(since count: UInt64) async {
        await landed.wait(since: count, atMost: Self.aliveInterval, sleep: environment.sleep)
    }

    /// What this device tells now, without the hash.
    package func announcement() -> CommitHint {
        let now = environment.now()
        let time = state.withLock { state in
            state.lastTime = max(now, Timestamp(rawValue: state.lastTime.rawValue &+ 1))
            return state.lastTime
        }
        return CommitHint(device: replica.device, number: replica.applied, time: time)
    }

    // MARK: Hearing

    /// A device told something.
    ///
    /// - Parameter address: From where, for people.
    /// - Returns: Whether it is new.
    @discardableResult
    package func received(_ hint: CommitHint, from address: String) -> Bool {
        guard hint.device != replica.device else { return false }
        let (applied, now, uptime) = (replica.applied, environment.now(), environment.uptime())
        let isNew = state.withLock {
            $0.peers.note(hint, from: address, applied: applied, now: now, uptime: uptime)
        }
        if isNew, hint.number > applied { wantLook() }
        return isNew
    }

    /// The store called, about a commit or about anything.
    package func notified(of number: CommitNumber?) {
        if let number {
            guard number <= Commit.highestNumber else { return }
            state.withLock { state in
                state.called = Array((state.called.filter { $0 != number } + [number]).suffix(Self.calledLimit))
            }
            guard number > replica.applied else { return }
        }
        wantLook()
    }

    private func wantLook() {
        let now = environment.uptime()
        state.withLock { state in
            state.wasHinted = true
            if let delay = state.pace.hinted(now: now) { state.lookAt = now + delay }
        }
        wanted.raise()
    }

    /// The devices that are heard.
    package var peers: [ContainerStatus.Peer] {
        let (uptime, applied) = (environment.uptime(), replica.applied)
        let heard = state.withLock { $0.peers.heard(at: uptime) }
        return heard.map { peer in
            let ahead = peer.number > applied ? peer.aheadSince.map { uptime - $0 } : nil
            return ContainerStatus.Peer(
                device: peer.device, name: (try? replica.read { try $0.deviceName(peer.device) }) ?? "",
                address: peer.address, secondsAgo: Int((uptime - peer.heard) / .seconds(1)), commit: peer.number,
                isMissingHere: ahead.map { $0 > HintPeers.missingTolerance } ?? false)
        }
    }

    // MARK: Following

    /// Calls `look` when hints ask for a look at the log, until cancelled.
    func run(_ look: @Sendable () -> Void) async {
        var turn = wanted.turn
        while !Task.isCancelled {
            if let due = state.withLock({ $0.lookAt }) {
                let rest = due - environment.uptime()
                if rest > .zero { guard (try? await environment.sleep(rest)) != nil else { return } }
                state.withLock { $0.lookAt = nil }
                look()
            } else {
                guard await wanted.wait(since: turn) else { return }
                turn = wanted.turn
            }
        }
    }

    func lookBegins() { state.withLock { $0.pace.lookBegins() } }

    /// - Returns: Whether there was a hint since the last time.
    func looked(found: Bool) -> Bool {
        let now = environment.uptime()
        return state.withLock { state in
            state.pace.looked(found: found, now: now)
            defer { state.wasHinted = false }
            return state.wasHinted
        }
    }

    func noteApplied(_ number: CommitNumber, of device: DeviceID) {
        guard device != replica.device else { return }
        let uptime = environment.uptime()
        state.withLock { $0.peers.noteCommit(of: device, number: number, uptime: uptime) }
    }

    /// Whether a commit of another device would be told: every device that committed lately is heard, or the store has
    /// called about the newest one.
    var areReliable: Bool {
        let (uptime, applied) = (environment.uptime(), replica.applied)
        return state.withLock { state in
            state.peers.areAllHeard(at: uptime) || state.called.contains(applied)
        }
    }
}
