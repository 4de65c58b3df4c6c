import Model
import Remote

/// The devices that this one hears: a pure value. Instants are since boot.
struct HintPeers {
    /// The most devices that are remembered: 64.
    static let limit = 64
    /// For how long a device counts as heard after its last hint: three of the hints that it sends while nothing changes, and
    /// 15 s.
    static let memory = CommitHints.aliveInterval * 3 + .seconds(15)
    /// How far the clock of a device may be off for it to count as heard: an older hint may be a repeated one.
    static let clockTolerance = Duration.seconds(600)
    /// For how long a device that commits without being heard keeps this one from relying on hints: a day.
    static let silentMemory = Duration.seconds(86_400)
    /// How long a commit may be announced without being found in the store before that is reported: a minute.
    static let missingTolerance = Duration.seconds(60)

    struct Peer {
        let device: DeviceID
        /// From where its last hint came, for people.
        var address: String
        var number: CommitNumber
        var time: Timestamp
        var heard: Duration
        /// Since when it is known to have a commit that is not applied here; `nil` when there is none.
        var aheadSince: Duration?
    }

    private var peers: [DeviceID: Peer] = [:]
    /// When a device last committed without being heard.
    private var silent: [DeviceID: Duration] = [:]

    /// - Parameters:
    ///   - now: By the clock of the wall.
    ///   - uptime: Since boot.
    /// - Returns: `false` for a hint that is not newer than the last one of its device: it was repeated.
    mutating func note(
        _ hint: CommitHint, from address: String, applied: CommitNumber, now: Timestamp, uptime: Duration
    )
        -> Bool
    {
        if let known = peers[hint.device], known.time >= hint.time { return false }
        let distance = Duration.nanoseconds(hint.time.rawValue.subtractingSaturated(now.rawValue))
        guard distance < Self.clockTolerance, .zero - distance < Self.clockTolerance else { return true }
        if peers[hint.device] == nil, peers.count >= Self.limit,
            let oldest = peers.values.min(by: { $0.heard < $1.heard })
        {
            peers[oldest.device] = nil
        }
        let since = peers[hint.device]?.aheadSince
        peers[hint.device] = Peer(
            device: hint.device, address: address, number: hint.number, time: hint.time, heard: uptime,
            aheadSince: hint.number > applied ? since ?? uptime : nil)
        silent[hint.device] = nil
        return true
    }

    /// A commit was applied, which a device made.
    mutating func noteCommit(of device: DeviceID, number: CommitNumber, uptime: Duration) {
        for (key, peer) in peers where peer.number <= number { peers[key]?.aheadSince = nil }
        guard !isHeard(device, uptime) else { return }
        if silent.count >= Self.limit, let oldest = silent.min(by: { $0.value < $1.value }) { silent[oldest.key] = nil }
        silent[device] = uptime
    }

    func heard(at uptime: Duration) -> [Peer] {
        peers.values.filter { uptime - $0.heard < Self.memory }.sorted { $0.device < $1.device }
    }

    /// Whether every device that committed lately is heard, and there is one.
    func areAllHeard(at uptime: Duration) -> Bool {
        !heard(at: uptime).isEmpty && !silent.values.contains { uptime - $0 < Self.silentMemory }
    }

    private func isHeard(_ device: DeviceID, _ uptime: Duration) -> Bool {
        peers[device].map { uptime - $0.heard < Self.memory } ?? false
    }
}

extension Int64 {
    fileprivate func subtractingSaturated(_ other: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (self < 0 ? .min : .max) : difference
    }
}
