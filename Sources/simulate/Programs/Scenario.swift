import Coordination
import FileSystem
import Remote

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
    /// The share of operations before which the daemon is killed and another takes its place, which programs do not notice.
    let replaceShare: Double
    /// The share of operations before which a device goes offline or comes back.
    let offlineShare: Double
    /// The errors of the devices' wall clocks.
    let skews: [Duration]
    /// Whether the devices are notified of changes, or poll.
    let sendsHints: [Bool]
    /// Only the first device writes: then nothing can conflict.
    let hasOneWriter: Bool
    /// Whether files grow beyond one chunk.
    let hasLargeFiles: Bool
    /// Whether some names are local-only.
    let hasLocalNames: Bool
    /// Whether names, attributes and targets are spelled as `String` takes for others, or begin with what it takes for a
    /// part of the slash before them.
    let hasSpellings: Bool
    /// Whether programs set previews of files.
    let hasPreviews: Bool
    /// Whether the container is sealed.
    let isSealed: Bool
    /// How many bytes a pack has; few, so that several are sent at a time, or as many as for users.
    let packByteCount: Int
    /// Whether weeks pass between the phases, in which snapshots are made and garbage is collected.
    let hasLongTimes: Bool
    /// The number of programs that work on a device at the same time; one element for each.
    let programCounts: [Int]
    /// Whether programs claim items, and present them.
    let hasClaims: Bool
    /// What happens to a claim whose presenter does not answer, and for how long it is waited for.
    let presenterPatience: ClaimLimits.Patience
    let presenterTimeout: Duration
    let sabotage: Sabotage?

    init(seed: UInt64, sabotage: Sabotage?, options: ScenarioOptions) {
        // In both orders everything must happen in the same way, but for the order.
        let isCalm = options.comparesOrders
        var random = SeededRandom(seed: seed, stream: "scenario")
        deviceCount = isCalm ? 2 : random.number(2...4)
        let stepCount = random.number(40...150)
        let phaseCount = random.number(1...3)
        phases = Array(repeating: stepCount / phaseCount, count: phaseCount)
        faultShare = isCalm ? 0 : random.pick([0, 0.02, 0.1, 0.3])
        longestDelay = random.pick([.milliseconds(1), .milliseconds(50), .seconds(2)])
        crashShare = random.pick([0, 0, 0.05, 0.15])
        killShare = random.pick([0, 0, 0.05])
        restartShare = random.pick([0, 0.03])
        offlineShare = isCalm ? 0.1 : random.pick([0, 0.1, 0.3])
        let skew = random.pick([0, 3, 3600, 400_000])
        skews = (0..<deviceCount).map { _ in .seconds(random.number(-skew...skew)) }
        sendsHints = (0..<deviceCount).map { _ in random.happens(0.5) }
        hasOneWriter = random.happens(0.1) && !isCalm
        hasLargeFiles = random.happens(0.1)
        // A separate stream leaves the draws of all other seeds unchanged.
        var later = SeededRandom(seed: seed, stream: "local names")
        hasLocalNames = later.happens(0.2)
        // Seeds that are older than these spellings draw what they drew before.
        var spellings = SeededRandom(seed: seed, stream: "spellings")
        hasSpellings = seed >= Self.firstSpelledSeed && spellings.happens(0.5)
        hasPreviews = seed >= Self.firstPreviewedSeed
        var sealing = SeededRandom(seed: seed, stream: "sealing")
        let isAlwaysSealed = Self.alwaysSealedSeeds.contains(seed)
        isSealed = seed >= Self.firstSealedSeed && (sealing.happens(1 / 3) || isAlwaysSealed)
        var packs = SeededRandom(seed: seed, stream: "packs")
        let packSizes = [Pack.byteLimit, 200_000, 5000, 1]
        packByteCount = seed >= Self.firstPackedSeed ? packs.pick(packSizes) : Pack.byteLimit
        hasLongTimes = options.passesWeeks
        var replacing = SeededRandom(seed: seed, stream: "replacing")
        // Claims and presenters end with the daemon.
        let isReplaced = seed >= Self.firstReplacedSeed && !options.hasClaims && !isCalm
        replaceShare = isReplaced ? replacing.pick([0, 0.05, 0.2]) : 0
        var coordination = SeededRandom(seed: seed, stream: "coordination")
        programCounts = (0..<deviceCount).map { _ in
            options.hasSeveralPrograms ? coordination.pick([2, 2, 3]) : 1
        }
        hasClaims = options.hasClaims
        presenterPatience = options.hasClaims ? coordination.pick([.wait, .fail, .skip]) : .wait
        presenterTimeout = options.hasClaims ? coordination.pick([.seconds(5), .seconds(60)]) : .seconds(60)
        self.sabotage = sabotage
    }

    private static let firstSpelledSeed: UInt64 = 3_000_000_000
    private static let firstSealedSeed: UInt64 = 4_000_000_000
    private static let alwaysSealedSeeds: Range<UInt64> = 5_000_000_000..<6_000_000_000
    private static let firstPackedSeed: UInt64 = 6_000_000_000
    private static let firstReplacedSeed: UInt64 = 7_000_000_000
    private static let firstPreviewedSeed: UInt64 = 8_000_000_000
    /// Fresh seeds begin here.
    static let firstFreshSeed = firstPreviewedSeed

    /// Whether requests to the store may fail.
    var hasTrouble: Bool { faultShare > 0 || offlineShare > 0 || hasLongTimes }

    /// Whether others may change a file while a program changes it.
    var isContended: Bool { hasClaims || programCounts.contains { $0 > 1 } }

    var description: String {
        """
        \(deviceCount) devices, operations \(phases), faults \(faultShare), delay up to \(longestDelay), crashes \(crashShare), \
        kills \(killShare), restarts \(restartShare)\(replaceShare > 0 ? ", replaced \(replaceShare)" : ""), offline \(offlineShare), skews \(skews), hints \(sendsHints)\
        \(hasOneWriter ? ", one writer" : "")\(hasLargeFiles ? ", large files" : "")\(hasLocalNames ? ", local names" : "")\
        \(hasSpellings ? ", spellings" : "")\(isSealed ? ", sealed" : "")\(packByteCount < Pack.byteLimit ? ", packs of \(packByteCount)" : "")\
        \(hasLongTimes ? ", long times" : "")\(isContended ? ", programs \(programCounts)" : "")\
        \(hasClaims ? ", claims, presenters have \(presenterTimeout), then \(presenterPatience)" : "")
        """
    }
}

/// What a seed does not select.
struct ScenarioOptions: Sendable {
    var passesWeeks = false
    var hasSeveralPrograms = false
    var hasClaims = false
    /// Whether each seed runs twice, see ``OrderCheck``.
    var comparesOrders = false

    /// The same for another process.
    var arguments: [String] {
        [
            (passesWeeks, "--weeks"), (hasSeveralPrograms, "--writers"), (hasClaims, "--claims"),
            (comparesOrders, "--orders"),
        ].filter(\.0).map(\.1)
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
    /// A program writes what another has claimed; with `--writers` and `--claims`.
    case writeClaimed

    /// The share of operations before which it happens.
    static let share = 0.1
}
