import Foundation
import Logging
import Model
import Remote
import Replica
import Synchronization

/// Finds and deletes the objects that the container no longer needs: unreferenced packs and manifests, old snapshots,
/// the part of the log that snapshots cover, and shares whose links have ended.
///
/// No object is deleted that any device may still refer to. There are two phases:
///
/// 1. **Condemning.** Objects that neither the state of the container nor any state of the last 30 days refers to are
///    named in a commit. The log is the lock: a commit counts only on top of all earlier ones, so a device that wants
///    to refer to an object has seen by then that the object is condemned, and sends its bytes again. That holds for a
///    device that is uploading now, and for one that returns after a month; and of two that collect at the same time
///    one wins, and the other looks again.
/// 2. **Sweeping.** Objects that were condemned longer ago than the grace period are deleted. The grace period lets
///    devices that are behind read what they still refer to.
///
/// Every step can be repeated, so an interrupted run is simply followed by another.
final class GarbageCollector: Sendable {
    /// How long a condemned object can still be read by default: 7 days.
    static let grace = Duration.seconds(7 * 24 * 60 * 60)
    /// How many objects one commit condemns: some 450 KB of keys.
    static let objectsPerCommit = 10_000
    /// How many commits and manifests are read at a time.
    static let readWidth = 16
    /// Manifests with a longer text, those of files of more than some 30 GiB, are read one at a time: 4 MiB.
    static let manifestByteLimit = 4 << 20
    /// How many commits of other devices may land before ours.
    static let attemptLimit = 1000

    /// Where unreferenced objects can be. Of an adopted object only the adoption note is deleted: the object is the
    /// user's.
    private static let prefixes = ["packs/", "adopted/", "manifests/"]

    private let replica: Replica
    private let store: any ObjectStore
    private let log: ChangeLog
    private let manifests: ManifestStore
    private let snapshotStore: SnapshotStore
    private let snapshots: Snapshots
    private let session: LogSession
    private let follower: Follower
    private let environment: EngineEnvironment
    private let logger: Logger
    private let isRunning = Atomic<Bool>(false)

    init(session: LogSession, follower: Follower, store: any ObjectStore) {
        replica = session.replica
        self.store = store
        log = session.log
        manifests = ManifestStore(store: store)
        snapshotStore = SnapshotStore(store: store)
        snapshots = session.snapshots
        self.session = session
        self.follower = follower
        environment = session.context.environment
        logger = session.context.logger
    }

    /// - Parameter isDryRun: Whether only to report what would be done; the objects to sweep are reported as they are
    ///   before condemning.
    /// - Throws: ``FileError`` with `busy` while another run is in progress here.
    func run(grace: Duration, isDryRun: Bool) async throws -> GarbageReport {
        guard isRunning.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged
        else { throw FileError(.busy, "a garbage collection is running") }
        defer { isRunning.store(false, ordering: .releasing) }
        _ = try await follower.catchUp()
        var report = GarbageReport(isDryRun: isDryRun)
        let base = try await trim(&report)
        try await condemn(base: base, &report)
        try await sweep(grace: grace, &report)
        report.deletedShareCount = try await ShareStore(store: store, packs: PackStore(store: store))
            .deleteExpired(now: environment.now(), isDryRun: isDryRun)
        logger.info("garbage collection finished", metadata: ["report": "\(report)"])
        return report
    }

    // MARK: The log and the snapshots

    /// Deletes snapshots and trims the log.
    ///
    /// - Returns: The snapshot from which, with the commits behind it, every state of the last 30 days can be rebuilt.
    private func trim(_ report: inout GarbageReport) async throws -> CommitNumber? {
        let trimmed = try await lastTrimmed()
        while true {
            let retention = SnapshotRetention(try await candidates(trimmed: trimmed), now: environment.now())
            // The commits that they cover are deleted for good, so the snapshots are verified first.
            if retention.trimmable > trimmed, let damaged = try await damagedSnapshot(from: retention.trimmable) {
                guard !report.isDryRun else { return retention.base }
                try await snapshotStore.delete(damaged)
                report.deletedSnapshotCount += 1
                continue
            }
            report.deletedSnapshotCount += retention.removed.count
            report.trimmedCommitCount += Int(max(trimmed, retention.trimmable) - trimmed)
            guard !report.isDryRun else { return retention.base }
            for number in retention.removed { try await snapshotStore.delete(number) }
            if retention.trimmable > trimmed {
                // Ascending, so that an interruption anywhere leaves no gap in what was trimmed.
                for number in trimmed + 1...retention.trimmable { try await log.trim(number) }
            }
            return retention.base
        }
    }

    private func candidates(trimmed: CommitNumber) async throws -> [SnapshotRetention.Candidate] {
        var candidates: [SnapshotRetention.Candidate] = []
        for number in try await snapshotStore.numbers() where number <= replica.applied {
            let time = number > trimmed ? try await log.read(number)?.commit.time : nil
            candidates.append(.init(number: number, time: time))
        }
        return candidates
    }

    /// The number up to which commits are trimmed: trimming starts at the beginning, so a binary search finds it.
    private func lastTrimmed() async throws(StoreError) -> CommitNumber {
        var trimmed: CommitNumber = 0
        var kept = replica.applied + 1
        while kept - trimmed > 1 {
            let middle = trimmed + (kept - trimmed) / 2
            if try await log.isTrimmed(middle) { trimmed = middle } else { kept = middle }
        }
        return trimmed
    }

    /// A damaged snapshot at or after a number, if there is one.
    private func damagedSnapshot(from number: CommitNumber) async throws -> CommitNumber? {
        for number in try await snapshotStore.numbers(after: number - 1) where number <= replica.applied {
            if try await snapshots.isDamaged(number) { return number }
        }
        return nil
    }

    // MARK: Condemning

    private func condemn(base: CommitNumber?, _ report: inout GarbageReport) async throws {
        let path = snapshots.scratchPath()
        let scan = try ReferenceScan(path: path)
        defer { snapshots.remove(path) }
        if let base {
            guard let file = try await snapshots.open(base) else {
                if try await snapshots.isOfFormerMember(base) {
                    throw FileError(
                        .corrupt,
                        "snapshot \(base), from which the objects in use in the last 30 days are known, is signed by a device that "
                            + "was revoked since; it is not needed any more when it is 30 days old, so try again then")
                }
                throw FileError(.corrupt, "snapshot \(base) cannot be read, so the objects in use are unknown")
            }
            try await scan.add(file)
            try snapshots.close(file)
        }
        let scanned = replica.applied
        try await addCommits(from: (base ?? 0) + 1, through: scanned, to: scan)
        try await scan.add(replica)
        try await addManifests(to: scan)
        for prefix in Self.prefixes { try await list(prefix, into: scan) }
        report = try await condemn(scan, scanned: scanned, report)
    }

    private func addCommits(
        from first: CommitNumber, through last: CommitNumber, to scan: ReferenceScan
    ) async throws {
        var next = first
        while next <= last {
            let numbers = next...min(last, next + UInt64(Self.readWidth) - 1)
            next = numbers.upperBound + 1
            let records = try await withThrowingTaskGroup(of: [ItemRecord].self) { group in
                for number in numbers {
                    group.addTask { [log] in
                        guard let read = try await log.read(number) else {
                            throw FileError(.corrupt, "commit \(number) is missing, so the objects in use are unknown")
                        }
                        return read.commit.records
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            try await scan.add(records)
        }
    }

    private func addManifests(to scan: ReferenceScan) async throws {
        while true {
            let hashes = try await scan.unreadManifests(limit: Self.readWidth)
            if hashes.isEmpty { return }
            var long: [ChunkHash] = []
            try await withThrowingTaskGroup(of: (ChunkHash, Set<PackID>?).self) { group in
                for hash in hashes {
                    group.addTask { [manifests] in
                        (hash, try await manifests.packs(of: hash, textByteLimit: Self.manifestByteLimit))
                    }
                }
                for try await (hash, packs) in group {
                    if let packs { try await scan.add(packs, of: hash) } else { long.append(hash) }
                }
            }
            for hash in long { try await scan.add(manifests.packs(of: hash) ?? [], of: hash) }
        }
    }

    private func list(_ prefix: String, into scan: ReferenceScan) async throws {
        try await forEachPage(prefix) { page in try await scan.list(page) }
    }

    /// Passes on the packs and manifests below a prefix.
    private func forEachPage(_ prefix: String, _ body: ([ReferenceScan.Listed]) async throws -> Void) async throws {
        var after: String?
        while true {
            let page = try await store.list(prefix: prefix, after: after, limit: ObjectListing.limit)
            guard let last = page.last else { return }
            after = last.key
            try await body(page.compactMap { line in CondemnedObject(line.key).map { ($0, line.byteCount) } })
        }
    }

    /// Names unreferenced objects, in commits on top of the log's end.
    private func condemn(
        _ scan: ReferenceScan, scanned: CommitNumber, _ report: GarbageReport
    ) async throws -> GarbageReport {
        var report = report
        var scanned = scanned
        for _ in 0..<Self.attemptLimit {
            var found: [ReferenceScan.Listed] = []
            _ = try await session.catchUp()
            let outcome = try await session.append {
                // Commits since the scan may refer to the objects that were found.
                try await addCommits(from: scanned + 1, through: replica.applied, to: scan)
                try await addManifests(to: scan)
                scanned = replica.applied
                found = try await scan.unreferenced(by: replica, limit: Self.objectsPerCommit)
                if found.isEmpty || report.isDryRun { return nil }
                return LogSession.Draft(condemned: found.map(\.object))
            } landed: { commit in
                try session.applyAppended(commit)
            }
            if case .overtaken = outcome { continue }
            report.condemnedCount += found.count
            report.condemnedByteCount += found.reduce(0) { $0 + $1.byteCount }
            if case .nothing = outcome { return report }
        }
        throw FileError(.busy, "commits of other devices kept landing first; try again later")
    }

    // MARK: Sweeping

    private func sweep(grace: Duration, _ report: inout GarbageReport) async throws {
        let limit = environment.now().earlier(by: grace)
        for prefix in Self.prefixes {
            try await forEachPage(prefix) { page in
                let condemned = try replica.read { try $0.condemned(among: page.map(\.object), upTo: limit) }
                for line in page where condemned.contains(line.object) {
                    if !report.isDryRun { try await store.delete(line.object.description) }
                    report.sweptCount += 1
                    report.sweptByteCount += line.byteCount
                }
            }
        }
    }
}
