import Model

/// Which process groups download so much by reading that it may be unintended, and how they are treated: a pure
/// decision.
///
///     counted ──over a limit──▶ held ──allow──────────────────────▶ allowed
///        │                       └──refuse, no answer in time──▶ refused ──allow──▶ allowed
///        └──many files, no limit set──▶ noticed
///
/// Counted by process group: a job of a shell, or a service of a service manager. So `find -exec`, with a process for
/// each file, counts as one, and each command of a person at a terminal as another.
struct ThrottleTable: Sendable {
    /// The time span that is counted, in ``slotCount`` slots.
    static let span = Duration.seconds(60)
    static let slotCount = 12
    /// How long reads are held before they are refused without an answer.
    static let patience = Duration.seconds(600)
    /// How many groups are remembered. Beyond that, the least recent is forgotten.
    static let groupLimit = 1024
    /// The file count that is reported although no limit is set.
    static let noticedFileCount = 1000
    static let noticedByteCount: Int64 = 4 << 30

    enum Verdict: Equatable { case admitted, held, refused }

    /// A new state that people should know of.
    enum Event: Equatable { case noticed, held, refused }

    struct Group: Sendable {
        var program: String
        var state = StormReport.State.counted
        /// Files and bytes of each slot, by its number since the start.
        fileprivate var slots: [Int64: (fileCount: Int, byteCount: Int64)] = [:]
        /// When it entered its state; `nil` while it is counted.
        var since: Timestamp?
        fileprivate var heldAt = Duration.zero
        fileprivate var lastDemand = Duration.zero
        /// How many reads are held.
        var waitingCount = 0

        var fileCount: Int { slots.values.reduce(0) { $0 + $1.fileCount } }
        var byteCount: Int64 { slots.values.reduce(0) { $0 + $1.byteCount } }
    }

    /// How many files and bytes a group may download within ``span``; `nil` for no limit.
    private let fileLimit: Int?
    private let byteLimit: Int64?
    private(set) var groups: [Int32: Group] = [:]
    private var lastSweep = Duration.zero

    init(fileLimit: Int?, byteLimit: Int64?) {
        self.fileLimit = fileLimit
        self.byteLimit = byteLimit
    }

    /// A process of a group reads a file that is not local.
    ///
    /// The read that passes a limit is admitted, since that one file may be large; later ones are held.
    /// - Parameters:
    ///   - now: Since the machine was started.
    ///   - time: The same moment in wall-clock time.
    ///   - hasEnded: Whether a group has no more processes.
    mutating func demand(
        by number: Int32, program: @autoclosure () -> String, byteCount: Int64, now: Duration, time: Timestamp,
        hasEnded: (Int32) -> Bool
    ) -> (Verdict, Event?) {
        if groups[number] == nil || now - lastSweep >= Self.span { sweep(now: now, hasEnded: hasEnded) }
        var group = groups[number] ?? Group(program: program())
        defer { groups[number] = group }
        group.lastDemand = now
        switch group.state {
        case .held, .refused: return Self.judge(&group, now: now, time: time)
        case .allowed: return (.admitted, nil)
        case .counted, .noticed: break
        }
        let slot = Self.slot(now)
        group.slots = group.slots.filter { $0.key > slot - Int64(Self.slotCount) }
        let (files, bytes) = (group.fileCount, group.byteCount)
        if fileLimit.map({ files >= $0 }) ?? false || byteLimit.map({ bytes >= $0 }) ?? false {
            group.state = .held
            group.since = time
            group.heldAt = now
            return (.held, .held)
        }
        let old = group.slots[slot] ?? (0, 0)
        group.slots[slot] = (old.fileCount + 1, old.byteCount + byteCount)
        guard group.state == .counted, files + 1 >= Self.noticedFileCount || bytes + byteCount >= Self.noticedByteCount,
            // A single large file never triggers the limit.
            files > 0
        else { return (.admitted, nil) }
        group.state = .noticed
        group.since = time
        return (.admitted, .noticed)
    }

    /// The state of a held read.
    mutating func verdict(of number: Int32, now: Duration, time: Timestamp) -> (Verdict, Event?) {
        guard var group = groups[number] else { return (.admitted, nil) }
        defer { groups[number] = group }
        return Self.judge(&group, now: now, time: time)
    }

    private static func judge(_ group: inout Group, now: Duration, time: Timestamp) -> (Verdict, Event?) {
        switch group.state {
        case .held:
            guard now - group.heldAt >= patience else { return (.held, nil) }
            group.state = .refused
            group.since = time
            return (.refused, .refused)
        case .refused: return (.refused, nil)
        case .counted, .noticed, .allowed: return (.admitted, nil)
        }
    }

    mutating func addWaiting(_ count: Int, to number: Int32) { groups[number]?.waitingCount += count }

    /// Records a decision.
    /// - Returns: Whether the group is known.
    mutating func answer(_ number: Int32, isAllowed: Bool, time: Timestamp) -> Bool {
        guard groups[number] != nil else { return false }
        groups[number]?.state = isAllowed ? .allowed : .refused
        groups[number]?.since = time
        return true
    }

    /// Forgets groups that have not read for long or have ended, and makes room for one more.
    mutating func sweep(now: Duration, hasEnded: (Int32) -> Bool) {
        lastSweep = now
        groups = groups.filter { number, group in
            if group.waitingCount > 0 { return true }
            if group.state == .counted { return now - group.lastDemand < Self.span }
            return group.state == .noticed ? now - group.lastDemand < Self.patience : !hasEnded(number)
        }
        guard groups.count >= Self.groupLimit else { return }
        let idle = groups.filter { $0.value.waitingCount == 0 }.min { $0.value.lastDemand < $1.value.lastDemand }
        if let idle { groups[idle.key] = nil }
    }

    private static func slot(_ now: Duration) -> Int64 { Int64(now / (span / slotCount)) }
}
