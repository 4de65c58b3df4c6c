import Logging
import Model
import Replica
import Sync
import Synchronization

/// Keeps downloaded bytes within their limits: evicts the least recently used files, by the rules of every eviction.
///
/// Checks the limits when a download begins or ends, when a written file is closed, and periodically, since other
/// programs fill the disk too. A read waits for it only while the disk has no room for what it downloads, so a file
/// larger than the limit is read like any other and evicted after its last close.
final class CacheEvictor: Sendable {
    /// The most files that one round evicts; another round follows.
    static let roundLimit = 1000
    /// The number of candidates considered at a time.
    static let batchCount = 256
    /// How many evictions without a known obstacle may be refused in a round: each may have waited for a presenter's
    /// timeout.
    static let refusalLimit = 16

    let limits: CacheLimits
    let rules: RuleBook
    let replica: Replica
    let environment: EngineEnvironment
    let logger: Logger
    /// A path on the disk whose free space is limited.
    private let path: String
    let uses = LastUses()
    private let wakes: Activity
    /// Whether the last round could not evict enough: then every close may make a file evictable.
    private let isStuck = Atomic(false)
    /// One round at a time.
    private let rounds = CommitLock()
    private let lastRound = Mutex<CacheStatus.Round?>(nil)
    let unusedPass = Mutex<UnusedPass?>(nil)

    init(_ context: SyncContext, limits: CacheLimits, rules: RuleBook) {
        self.limits = limits
        self.rules = rules
        replica = context.replica
        environment = context.environment
        logger = context.logger
        path = context.location.state
        wakes = Activity(environment: environment)
    }

    /// A file was opened or closed.
    func noteUse(of inode: InodeNumber) {
        guard notesUses else { return }
        if uses.note(inode, at: environment.now()) { wakes.noteLocalChange() }
    }

    var hasLimits: Bool { limits.isSet }

    /// Whether it matters when files are used.
    var notesUses: Bool { limits.isSet || rules.evictsUnused }

    /// The rule of a directory was set.
    func noteRules() {
        noteWhetherUsesAreNoted()
        unusedPass.withLock { $0 = nil }
        wakes.noteLocalChange()
    }

    /// Called when a download begins or ends.
    func wake() { if limits.isSet { wakes.noteLocalChange() } }

    /// The last handle of a file was closed.
    func noteLastClose(wasWritable: Bool) {
        guard limits.isSet, wasWritable || isStuck.load(ordering: .relaxed) else { return }
        wakes.noteLocalChange()
    }

    /// Records in the index when files were last used.
    func recordUses() throws(FileError) {
        let uses = uses.take()
        if !uses.isEmpty { try replica.change { try $0.note(uses: uses) } }
    }

    /// Checks the limits until cancelled; while there are none, it waits for the rule of a directory.
    ///
    /// - Parameter eviction: Makes the eviction of one round, which asks the store once for each pack.
    func run(evicting eviction: @Sendable () -> Eviction) async {
        noteWhetherUsesAreNoted()
        var pace = CachePace()
        var recorded = environment.uptime()
        while !Task.isCancelled {
            let seen = wakes.localChanges
            guard notesUses else {
                await wakes.waitForLocalChange(since: seen, atMost: nil)
                continue
            }
            let outcome = await look(eviction(), &recorded)
            pace.looked(isEnough: outcome.isEnough)
            isStuck.store(!outcome.isEnough, ordering: .relaxed)
            guard (try? await environment.sleep(pace.spacing)) != nil else { return }
            if !outcome.isPiece { await wakes.waitForLocalChange(since: seen, atMost: CachePace.limit) }
        }
    }

    /// How much more is evicted than a full disk needs at the moment, so that a walk through many files does not ask for
    /// each: 32 MiB, but at most a sixteenth of a small disk.
    private static let slackByteCount: Int64 = 32 << 20
    private static let smallDiskShare: Int64 = 16

    /// Evicts files for bytes that the disk has no room for, if there is a limit: without one nothing is evicted unasked.
    ///
    /// - Returns: Whether there may be room now.
    func makeRoom(for byteCount: Int64, on floor: FreeSpaceFloor, _ eviction: Eviction) async -> Bool {
        guard limits.isSet else { return false }
        let isDone = try? await rounds.withLock { () async throws -> Bool in
            // Another caller may have made it.
            if floor.hasRoom(for: byteCount) { return true }
            try recordUses()
            let disk = try FileSystemStatistics(ofDiskUnder: path)
            let slack = min(Self.slackByteCount, disk.byteCount / Self.smallDiskShare)
            let missing = byteCount + FreeSpaceFloor.reserve(of: disk) - disk.availableByteCount
            // A full disk is no time to keep what was used lately.
            let round = await round(eviction, max(missing, 0) + slack, .fullDisk).round
            try replica.makeDurable()
            publish(round)
            return round.evictedFileCount > 0
        }
        return isDone ?? false
    }

    private struct Look {
        /// Whether the cache is within its limits.
        var isEnough = false
        /// Whether there is more to look at.
        var isPiece = false
    }

    private func look(_ eviction: Eviction, _ recorded: inout Duration) async -> Look {
        var time = recorded
        defer { recorded = time }
        // Cancelled: the engine shuts down.
        return (try? await rounds.withLock { await lookAlone(eviction, &time) }) ?? Look()
    }

    private func lookAlone(_ eviction: Eviction, _ recorded: inout Duration) async -> Look {
        do throws(FileError) {
            let excess = try excess(eviction)
            if excess > 0 || uses.areMany || environment.uptime() - recorded >= CachePace.limit {
                try recordUses()
                recorded = environment.uptime()
            }
            let isPiece = try await evictUnused(eviction)
            guard excess > 0 else { return Look(isEnough: true, isPiece: isPiece) }
            let round = await round(eviction, excess, .limits).round
            // Evicted bytes leave the disk only once the index is durable.
            try replica.makeDurable()
            publish(round)
            return Look(isEnough: round.missingByteCount == 0, isPiece: isPiece)
        } catch {
            logger.error("failed to check the size of the cache; trying again later", metadata: ["error": "\(error)"])
            return Look()
        }
    }

    private func excess(_ eviction: Eviction) throws(FileError) -> Int64 {
        // In this order, so that a download that ends in between is counted once; its end triggers another check.
        let held =
            limits.byteLimit == nil ? 0 : try replica.read { try $0.heldByteCount() } + eviction.byteCountUnderWay
        let disk = try FileSystemStatistics(ofDiskUnder: path)
        return limits.excess(held: held, free: disk.availableByteCount, of: disk.byteCount)
    }

    /// How many more bytes fit within the limits, without an eviction, and on the disk.
    ///
    /// - Parameter wanted: The bytes of files that are to be downloaded before.
    func room(besides wanted: Int64) throws(FileError) -> Int64 {
        let disk = try FileSystemStatistics(ofDiskUnder: path)
        let held = limits.byteLimit == nil ? 0 : try replica.read { try $0.heldByteCount() }
        let free = disk.availableByteCount - FreeSpaceFloor.reserve(of: disk) - wanted
        return limits.room(held: held + wanted, free: free, of: disk.byteCount)
    }

    func time(before now: Duration) -> Timestamp { environment.now().earlier(by: now) }

    // MARK: Logging

    private func publish(_ round: CacheStatus.Round) {
        let before = lastRound.withLock { last in
            defer { last = round }
            return last
        }
        let why = (round.blockedBy.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" } + [round.problem])
            .compactMap(\.self).joined(separator: ", ")
        if round.evictedFileCount > 0 {
            logger.info(
                "evicted files to free space",
                metadata: ["files": "\(round.evictedFileCount)", "bytes": "\(round.evictedByteCount)"])
        }
        // Logged once for as long as the condition lasts.
        if round.missingByteCount > 0, round.evictedFileCount < Self.roundLimit,
            before == nil || before?.missingByteCount == 0 || before?.blockedBy != round.blockedBy
                || before?.problem != round.problem
        {
            logger.warning(
                "the cache is over its limit, and too little can be evicted",
                metadata: ["bytes": "\(round.missingByteCount)", "why": "\(why)"])
        }
    }

    func status() throws(FileError) -> CacheStatus {
        let disk = try FileSystemStatistics(ofDiskUnder: path)
        return CacheStatus(
            byteCount: try replica.read { try $0.heldByteCount() }, byteLimit: limits.byteLimit,
            freeByteCount: disk.availableByteCount, freeByteFloor: limits.freeByteFloor(of: disk.byteCount),
            lastRound: lastRound.withLock { $0 })
    }
}

extension FileSystemStatistics {
    fileprivate var byteCount: Int64 { Int64(blocks) * Int64(fragmentSize) }
    fileprivate var availableByteCount: Int64 { Int64(availableBlocks) * Int64(fragmentSize) }
}
