import Foundation
import Logging
package import Model
import Remote
import Replica
import Synchronization

/// Starts from a snapshot when the log is long or was trimmed, and makes new ones when they are due.
///
///     nothing local yet          the newest readable snapshot is imported whole, then the log is followed
///     the next commit was        the newest readable snapshot is applied like one large commit: local changes
///     trimmed                    are merged, and items that are not in it are removed
///     a half applied snapshot    it, or a newer one, is applied completely before anything else
///
/// All changes to the replica are started by ``LogSession``, which holds the lock.
package final class Snapshots: Sendable {
    /// A snapshot is due when the log behind the newest one has this many commits, or this many bytes: 64 MiB.
    /// In an encrypted container it is also due when a device that was revoked has made the newest one: a new device does not
    /// believe that any more.
    static let commitLimit = 2000
    static let logByteLimit: Int64 = 64 << 20
    /// How often this is checked, and the longest random delay: so that one of many devices makes the snapshot.
    static let checkPause = Duration.seconds(300)
    /// How often in an encrypted container, where the newest one may be of a former member: this device may be the only one,
    /// and mounted for a moment. Requests are only made when something has changed.
    static let sealedCheckPause = Duration.seconds(2)
    /// After which time it is tried again to make one, when a deletion waits to be uploaded.
    static let retryPause = Duration.seconds(60)
    static let delayLimitSeconds = 120
    /// How many records and deletions of a snapshot are applied in one transaction.
    static let stepLimit = 5000

    private let container: Container
    private let log: ChangeLog
    private let snapshots: SnapshotStore
    private let applier: CommitApplier
    private let preparation: RecordPreparation
    private let context: SyncContext
    private let hasBegun = Atomic<Bool>(false)

    private var replica: Replica { context.replica }
    private var environment: EngineEnvironment { context.environment }
    private var logger: Logger { context.logger }
    private var activity: Activity { context.activity }

    init(_ context: SyncContext, container: Container, applier: CommitApplier, preparation: RecordPreparation) {
        self.context = context
        self.container = container
        log = ChangeLog(store: container.store)
        snapshots = SnapshotStore(store: container.store)
        self.applier = applier
        self.preparation = preparation
    }

    // MARK: Starting from one

    /// Ensures once that the log can be followed from the replica's position; until then it is neither read nor
    /// appended to.
    func begin() async throws {
        guard !hasBegun.load(ordering: .acquiring) else { return }
        try clearFiles()
        if let number = try replica.read({ try $0.snapshotUnderWay() }) {
            guard try await apply(from: number) else {
                throw StoreError(
                    .corrupt, key: SnapshotStore.key(number),
                    "it is partly applied here, and neither it nor a newer one can be read")
            }
        } else if replica.applied == 0 {
            try await start()
        }
        hasBegun.store(true, ordering: .releasing)
    }

    /// A new device takes the newest snapshot; without a readable one the log is complete, or shows that it is not.
    private func start() async throws {
        let uptime = environment.uptime()
        // If anything fails, or is applied in another way, nothing of the preview stays.
        defer { applier.withdrawPreview() }
        try await withNewest(from: 1, showingRoot: context.previewsTree) { file in
            if try await replica.importSnapshot(file) {
                try applier.publishRootChanged()
                activity.noteProgress()
            } else {
                applier.withdrawPreview()
                try await apply(file)
            }
            logger.info(
                "started from a snapshot",
                metadata: [
                    "commit": "\(file.summary.number)", "items": "\(file.summary.itemCount)",
                    "took": "\(environment.uptime() - uptime)",
                ])
        }
    }

    /// Brings the replica to a snapshot's state, since the log no longer continues from its position.
    ///
    /// - Returns: Whether there was a readable one.
    func catchUp() async throws -> Bool {
        try await apply(from: replica.applied + 1)
    }

    private func apply(from number: CommitNumber) async throws -> Bool {
        try await withNewest(from: number) { file in try await apply(file) }
    }

    /// Fetches the newest readable snapshot, from `number` on, and passes it on.
    ///
    /// - Parameter showingRoot: Whether its root is shown as soon as possible.
    /// - Returns: Whether there was one.
    @discardableResult
    private func withNewest(
        from number: CommitNumber, showingRoot: Bool = false, _ body: (SnapshotFile) async throws -> Void
    ) async throws -> Bool {
        for candidate in try await snapshots.numbers(after: number - 1).reversed() {
            guard let file = try await open(candidate, showingRoot: showingRoot) else { continue }
            let path = file.path
            do { try await body(file) } catch {
                remove(path)
                throw error
            }
            container.store.goOn(fromSnapshot: candidate)
            try close(file)
            return true
        }
        return false
    }

    /// Fetches one snapshot.
    ///
    /// - Returns: `nil` when it is damaged, too new or gone, which is logged.
    func open(_ number: CommitNumber, showingRoot: Bool = false) async throws -> SnapshotFile? {
        do {
            return try await load(number, showingRoot: showingRoot)
        } catch let error as StoreError where [.corrupt, .notFound].contains(error.code) {
            logger.warning("skipping unreadable snapshot", metadata: ["commit": "\(number)", "error": "\(error)"])
        } catch let error as FileError where [.corrupt, .invalid].contains(error.code) {
            logger.warning("skipping unreadable snapshot", metadata: ["commit": "\(number)", "error": "\(error)"])
        }
        return nil
    }

    /// - Throws: ``StoreError`` or ``FileError``: `corrupt` when it is damaged, `invalid` when it needs a newer
    ///   version.
    private func load(_ number: CommitNumber, showingRoot: Bool = false) async throws -> SnapshotFile {
        try makeDirectory()
        let path = scratchPath()
        do {
            try await snapshots.fetch(number, to: path)
            if showingRoot { await showRoot(of: path, number) }
            let file = try await SnapshotFile.open(path, container: container.identity.uuid, number: number) {
                record, commit in record.fault(in: commit)
            }
            if file.droppedCount > 0 { logger.warning("\(Self.sentence(number, dropped: file.droppedCount))") }
            return file
        } catch {
            if showingRoot { applier.withdrawPreview() }
            remove(path)
            throw error
        }
    }

    /// Shows the names in the root before everything is checked and imported, which takes most of the time of a first
    /// mount.
    private func showRoot(of path: String, _ number: CommitNumber) async {
        do throws(FileError) {
            let items = try await SnapshotFile.root(of: path, container: container.identity.uuid, number: number) {
                record, commit in record.fault(in: commit)
            }
            guard let preview = try replica.showPreview(items) else { return }
            applier.publish(preview)
            activity.noteProgress()
        } catch {
            // The check of the whole snapshot finds it too, and says so.
            logger.debug("cannot show the root yet", metadata: ["commit": "\(number)", "error": "\(error)"])
        }
    }

    /// Whether a snapshot exists and is damaged.
    func isDamaged(_ number: CommitNumber) async throws -> Bool {
        do {
            try close(try await load(number))
            return false
        } catch let error as StoreError where error.code == .corrupt {
            return true
        } catch let error as FileError where error.code == .corrupt {
            return true
        }
    }

    /// What would keep a new device from reading the newest snapshot, or a part of it, in sentences.
    ///
    /// - Parameter readingAll: Whether all snapshots are read.
    package func check(readingAll: Bool) async throws(FileError) -> [String] {
        do {
            var problems: [String] = []
            let numbers = try await snapshots.numbers()
            let mayBeFormer = container.store.formerMemberCount > 0
            let isLogWhole = mayBeFormer ? try await isLogWhole() : false
            for number in numbers.suffix(readingAll ? .max : 1) {
                do {
                    // New devices do not believe it, and begin with a newer one, or with the first commit.
                    if isLogWhole || number != numbers.last, try await isOfFormerMember(number) { continue }
                    let file = try await load(number)
                    if file.droppedCount > 0 { problems.append(Self.sentence(number, dropped: file.droppedCount)) }
                    try close(file)
                } catch let error as FileError where [.corrupt, .invalid].contains(error.code) {
                    problems.append("snapshot \(number): no new device can read it: \(error.detail)")
                } catch let error as StoreError where error.code == .corrupt {
                    problems.append("snapshot \(number): no new device can read it: \(error.detail)")
                } catch let error as StoreError where error.code == .notFound {
                    // Replaced by a newer one meanwhile.
                }
            }
            return problems
        } catch let error as StoreError {
            throw error.fileError
        } catch let error as FileError {
            throw error
        } catch {
            throw FileError(.cancelled, "the check was cancelled", cause: error)
        }
    }

    private func isLogWhole() async throws(StoreError) -> Bool {
        guard try await log.contains(1) else { return false }
        return try await !log.isTrimmed(1)
    }

    private static func sentence(_ number: CommitNumber, dropped count: Int) -> String {
        "snapshot \(number): \(count) rows of earlier states or devices cannot be read and are left out"
    }

    /// Closes and removes a snapshot that was opened.
    func close(_ file: SnapshotFile) throws(FileError) {
        try file.close()
        remove(file.path)
    }

    /// Applies a snapshot in steps, merging it with local changes.
    private func apply(_ file: SnapshotFile) async throws {
        let count = try await file.prepareSteps(for: replica)
        logger.info("applying a snapshot", metadata: ["commit": "\(file.summary.number)", "changes": "\(count)"])
        try await replica.takeTables(from: file)
        var position = 0
        while true {
            let step = try await file.step(after: position, limit: Self.stepLimit)
            position += step.records.count + step.tombstones.count
            let records = step.records.map(\.record)
            let findings = try await preparation.findings(for: records, step.tombstones)
            try applier.apply(step, of: file.summary, findings)
            if step.isLast { break }
            try Task.checkCancellation()
        }
        try replica.makeDurable()
    }

    // MARK: Making one

    /// Makes a snapshot whenever one is due, until cancelled.
    func run() async {
        var looked: CommitNumber?
        // When one may be due for its length.
        var next = environment.uptime() + Self.checkPause
        var judged: Judgement?
        while (try? await environment.sleep(container.store.isSealed ? Self.sealedCheckPause : Self.checkPause)) != nil
        {
            let (applied, count) = (replica.applied, container.store.formerMemberCount)
            do {
                var isUrgent = false
                if count > 0, judged?.stands(at: applied, formerMemberCount: count) != true {
                    isUrgent = try await isNewestOfFormerMember()
                    judged = Judgement(applied: applied, formerMemberCount: count, isUrgent: isUrgent)
                }
                let isTime = environment.uptime() >= next && applied != looked
                guard isUrgent || isTime else { continue }
                next = environment.uptime() + Self.checkPause
                if try await isDue() {
                    // A new device may be waiting for it.
                    if !isUrgent { try await environment.sleep(delay()) }
                    // Meanwhile another device may have made it.
                    if try await isDue(), try await make() == nil {
                        judged = nil
                        try await environment.sleep(Self.retryPause)
                        continue
                    }
                }
                looked = applied
            } catch is CancellationError {
                return
            } catch {
                logger.warning("failed to create a snapshot; trying again later", metadata: ["error": "\(error)"])
                do { try await environment.sleep(Self.checkPause) } catch { return }
            }
        }
    }

    /// Whether the newest snapshot is of a former member, as it was looked at last.
    private struct Judgement {
        let applied: CommitNumber
        let formerMemberCount: Int
        let isUrgent: Bool

        /// Whether nothing has happened since that could change it: another one is due with the next commit at the earliest.
        func stands(at applied: CommitNumber, formerMemberCount: Int) -> Bool {
            formerMemberCount == self.formerMemberCount && (!isUrgent || applied == self.applied)
        }
    }

    private func delay() -> Duration {
        let random = environment.makeUUID().uuid
        return .seconds((Int(random.0) << 8 | Int(random.1)) % Self.delayLimitSeconds)
    }

    func isDue(commitLimit: Int = Snapshots.commitLimit) async throws -> Bool {
        // Others would take it for what this device has seen.
        guard !container.store.isBaseDoubtful else { return false }
        let applied = replica.applied
        // What is named for a later commit is none that this device has seen, or none at all.
        let newest = try await snapshots.numbers().last { $0 <= applied } ?? 0
        guard applied > newest else { return false }
        if applied - newest >= UInt64(commitLimit) { return true }
        if try await isOfFormerMember(newest) { return true }
        return try await log.byteCount(after: newest, through: applied) >= Self.logByteLimit
    }

    private func isNewestOfFormerMember() async throws(StoreError) -> Bool {
        let applied = replica.applied
        return try await isOfFormerMember(try await snapshots.numbers().last { $0 <= applied } ?? 0)
    }

    /// - Parameter number: 0 for none.
    func isOfFormerMember(_ number: CommitNumber) async throws(StoreError) -> Bool {
        guard number > 0 else { return false }
        do throws(StoreError) {
            return try await container.store.isSignedByFormerMember(SnapshotStore.key(number))
        } catch {
            guard error.code == .corrupt || error.code == .notFound else { throw error }
            return false
        }
    }

    /// Writes the state after the last applied commit.
    ///
    /// - Returns: Its number; `nil` when the state cannot be written now, since a deletion waits to be uploaded.
    @discardableResult
    package func make() async throws -> CommitNumber? {
        let path = scratchPath()
        let packed = scratchPath()
        defer {
            remove(path)
            remove(packed)
        }
        let summary: SnapshotSummary
        do throws(FileError) {
            summary = try await replica.exportSnapshot(to: path)
        } catch {
            guard error.code == .busy else { throw error }
            return nil
        }
        guard summary.number > 0 else { return nil }
        try await snapshots.create(summary.number, from: path, through: packed)
        logger.info(
            "created a snapshot", metadata: ["commit": "\(summary.number)", "items": "\(summary.itemCount)"])
        return summary.number
    }

    // MARK: Files

    /// A path that does not exist yet, below the state's staging directory.
    func scratchPath() -> String {
        "\(replica.state.snapshots)/\(environment.makeUUID().uuidString.lowercased())"
    }

    private func clearFiles() throws(FileError) {
        let directory = replica.state.snapshots
        do {
            if FileManager.default.fileExists(atPath: directory) {
                try FileManager.default.removeItem(atPath: directory)
            }
        } catch {
            throw FileError(.inputOutput, "\(directory): \(error)", cause: error)
        }
        try makeDirectory()
    }

    private func makeDirectory() throws(FileError) {
        let directory = replica.state.snapshots
        do {
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw FileError(.inputOutput, "\(directory): \(error)", cause: error)
        }
    }

    /// A file that cannot be removed is removed at the next start.
    func remove(_ path: String) {
        for suffix in ["", "-journal"] { unlink(path + suffix) }
    }
}
