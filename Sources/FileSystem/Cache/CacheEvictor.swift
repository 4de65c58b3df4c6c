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
    /// When what was not used for long was last looked for, in uptime.
    let lastUnusedCheck = Mutex<Duration?>(nil)

    init(_ context: SyncContext, limits: CacheLimits) {
        self.limits = limits
        replica = context.replica
        environment = context.environment
        logger = context.logger
        path = context.location.state
        wakes = Activity(environment: environment)
    }

    /// A file was opened or closed.
    func noteUse(of inode: InodeNumber) {
        guard limits.isSet else { return }
        if uses.note(inode, at: environment.now()) { wakes.noteLocalChange() }
    }

    var hasLimits: Bool { limits.isSet }

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

    /// Checks the limits until cancelled; returns at once if there are none.
    ///
    /// - Parameter eviction: Makes the eviction of one round, which asks the store once for each pack.
    func run(evicting eviction: @Sendable () -> Eviction) async {
        noteWhetherUsesAreNoted()
        guard limits.isSet else { return }
        var pace = CachePace()
        var recorded = environment.uptime()
        while !Task.isCancelled {
            let seen = wakes.localChanges
            let isEnough = await look(eviction(), &recorded)
            pace.looked(isEnough: isEnough)
            isStuck.store(!isEnough, ordering: .relaxed)
            guard (try? await environment.sleep(pace.spacing)) != nil else { return }
            await wakes.waitForLocalChange(since: seen, atMost: CachePace.limit)
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
            let round = await round(eviction, max(missing, 0) + slack, usedBefore: nil)
            try replica.makeDurable()
            publish(round)
            return round.evictedFileCount > 0
        }
        return isDone ?? false
    }

    /// - Returns: Whether the cache is within its limits.
    private func look(_ eviction: Eviction, _ recorded: inout Duration) async -> Bool {
        var time = recorded
        defer { recorded = time }
        // Cancelled: the engine shuts down.
        return (try? await rounds.withLock { await lookAlone(eviction, &time) }) ?? false
    }

    private func lookAlone(_ eviction: Eviction, _ recorded: inout Duration) async -> Bool {
        do throws(FileError) {
            let excess = try excess(eviction)
            if excess > 0 || uses.areMany || environment.uptime() - recorded >= CachePace.limit {
                try recordUses()
                recorded = environment.uptime()
            }
            try await evictUnused(eviction)
            guard excess > 0 else { return true }
            let round = await round(eviction, excess, usedBefore: limits.keepRecent.map(time(before:)))
            // Evicted bytes leave the disk only once the index is durable.
            try replica.makeDurable()
            publish(round)
            return round.missingByteCount == 0
        } catch {
            logger.error("failed to check the size of the cache; trying again later", metadata: ["error": "\(error)"])
            return false
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

    /// - Parameter end: Files that were used at this time or later stay; `nil`: none do for that.
    func round(
        _ eviction: Eviction, _ excess: Int64, usedBefore end: Timestamp?
    ) async -> CacheStatus.Round {
        var eviction = eviction
        var round = CacheStatus.Round(time: environment.now().rfc3339, missingByteCount: excess)
        var refusals = 0
        do throws(FileError) {
            var last: HeldFile?
            repeat {
                let batch = try replica.read { try $0.heldFiles(after: last, limit: Self.batchCount) }
                last = batch.last
                let choice = EvictionPlan(
                    among: try candidates(batch, eviction), excess: round.missingByteCount,
                    countLimit: Self.roundLimit - round.evictedFileCount, usedBefore: end)
                for (obstacle, count) in choice.blockedBy { round.blockedBy[obstacle.rawValue, default: 0] += count }
                for file in batch where choice.inodes.contains(file.inode) {
                    if let obstacle = try await evict(file.inode, &eviction) {
                        round.blockedBy[obstacle.rawValue, default: 0] += 1
                        refusals += 1
                    } else {
                        round.evictedFileCount += 1
                        round.evictedByteCount += file.byteCount
                        round.missingByteCount = max(0, round.missingByteCount - file.byteCount)
                    }
                    if Task.isCancelled || refusals == Self.refusalLimit { return round }
                }
                // They are in the order of their use.
                if let end, let last, last.used >= end { return round }
            } while last != nil && round.missingByteCount > 0 && round.evictedFileCount < Self.roundLimit
        } catch {
            round.problem = error.description
        }
        return round
    }

    private func candidates(
        _ batch: [HeldFile], _ eviction: Eviction
    ) throws(FileError) -> [EvictionPlan.Candidate] {
        var candidates: [EvictionPlan.Candidate] = []
        for file in batch {
            do throws(FileError) {
                candidates.append(
                    EvictionPlan.Candidate(
                        inode: file.inode, byteCount: file.byteCount, used: file.used,
                        obstacle: try eviction.obstacleUnasked(file.inode)))
            } catch {
                // Unlinked in the meantime: there is nothing left to evict.
                guard error.code == .notFound else { throw error }
            }
        }
        return candidates
    }

    /// - Returns: Why the file was not evicted; `nil` if it was.
    private func evict(_ inode: InodeNumber, _ eviction: inout Eviction) async throws(FileError) -> EvictionObstacle? {
        do throws(FileError) {
            try await eviction.evict(inode)
            return nil
        } catch {
            switch error.code {
            case .notFound: return nil
            case .busy: return try eviction.obstacleUnasked(inode) ?? .claimed
            case .corrupt: return .lost
            default: throw error
            }
        }
    }

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
