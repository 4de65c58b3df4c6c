/// The kind of run that a seed selects.
struct Scenario: Sendable, CustomStringConvertible {
    let deviceCount: Int
    /// The number of operations between two quiet points; one element for each.
    let phases: [Int]
    /// The share of requests to the store that fail.
    let faultShare: Double
    let longestDelay: Duration
    /// The shares of operations after which the device crashes at one of its next steps, is killed, loses its power, or
    /// is restarted in order.
    let crashShare: Double
    let killShare: Double
    let restartShare: Double
    /// The share of operations before which a device goes offline or comes back.
    let offlineShare: Double
    /// The errors of the devices' wall clocks.
    let skews: [Duration]
    /// Whether the devices are notified of changes, or poll.
    let tellsChanges: [Bool]
    /// Only the first device writes: then nothing can conflict.
    let hasOneWriter: Bool
    /// Whether files grow beyond one chunk.
    let hasLargeFiles: Bool
    /// Whether some names are local-only.
    let hasLocalNames: Bool
    /// Whether weeks pass between the phases, in which snapshots are made and garbage is collected.
    let hasLongTimes: Bool
    let sabotage: Sabotage?

    init(seed: UInt64, sabotage: Sabotage?, hasLongTimes: Bool = false) {
        var random = SeededRandom(seed: seed, stream: "scenario")
        deviceCount = random.number(2...4)
        let stepCount = random.number(40...150)
        let phaseCount = random.number(1...3)
        phases = Array(repeating: stepCount / phaseCount, count: phaseCount)
        faultShare = random.pick([0, 0.02, 0.1, 0.3])
        longestDelay = random.pick([.milliseconds(1), .milliseconds(50), .seconds(2)])
        crashShare = random.pick([0, 0, 0.05, 0.15])
        killShare = random.pick([0, 0, 0.05])
        restartShare = random.pick([0, 0.03])
        offlineShare = random.pick([0, 0.1, 0.3])
        let skew = random.pick([0, 3, 3600, 400_000])
        skews = (0..<deviceCount).map { _ in .seconds(random.number(-skew...skew)) }
        tellsChanges = (0..<deviceCount).map { _ in random.happens(0.5) }
        hasOneWriter = random.happens(0.1)
        hasLargeFiles = random.happens(0.1)
        // A separate stream leaves the draws of all other seeds unchanged.
        var later = SeededRandom(seed: seed, stream: "local names")
        hasLocalNames = later.happens(0.2)
        self.hasLongTimes = hasLongTimes
        self.sabotage = sabotage
    }

    var description: String {
        """
        \(deviceCount) devices, operations \(phases), faults \(faultShare), delay up to \(longestDelay), crashes \(crashShare), \
        kills \(killShare), restarts \(restartShare), offline \(offlineShare), skews \(skews), hints \(tellsChanges)\
        \(hasOneWriter ? ", one writer" : "")\(hasLargeFiles ? ", large files" : "")\(hasLocalNames ? ", local names" : "")\
        \(hasLongTimes ? ", long times" : "")
        """
    }
}

/// Deliberate damage, to verify that it is detected.
enum Sabotage: String, CaseIterable, Sendable {
    /// A change is dropped from the outbox.
    case dropChange
    /// A file is deleted without a user.
    case deleteUnseen
    /// The store keeps other bytes than were written.
    case damageStore
    /// A device has bytes that no program wrote.
    case writeUnseen

    /// The share of operations before which it happens.
    static let share = 0.1
}
