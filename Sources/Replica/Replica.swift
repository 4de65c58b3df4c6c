import Foundation
package import Model
import GRDB
import Synchronization
package import Linux

/// This machine's copy of a container: the index (SQLite), authoritative for names and metadata, and the backing
/// directory, authoritative for bytes.
///
/// The item id belongs to an ``Entry``, a name in a directory; bytes belong to an ``Inode``. Every call answers
/// synchronously and never waits for the network; all are safe on any thread.
///
///     try replica.read { try $0.attributes(of: number) }                 one state of the index: ``Rows``
///     try replica.change { try $0.link(number, in: parent, as: name) }   all or nothing: ``ReplicaTransaction``
///
/// What takes more than one of those is a method here.
///
/// **One change, one transaction.** There is no separate journal. A change of index and backing directory is one index
/// transaction that makes its calls on the backing directory inside; an error undoes them. The effects of a crash
/// between a call and the commit are resolved by start-up repair from the identity of the files: the index knows the
/// disk's inode number and birth time of every object that it put in the backing directory, so bytes are found wherever
/// they are and moved to their place in the index. Nothing is unlinked before the commit: files to remove are first
/// renamed into `staging/removed`. See ``change(freeing:_:)``, ``RepairReport``.
///
/// **Guarantees at a power failure.** ``makeDurable(namesIn:)`` makes every committed change durable. Bytes that exist
/// nowhere else and were removed stay in `staging/removed` until the commit that removed them is durable. Downloaded
/// bytes that are not known to be on the disk (``settle()``) are downloaded again rather than trusted. The calls on the
/// backing directory are not synced one by one: until the next ``settle()`` the index keeps the identity of removed
/// files, so that repair recognises those that come back.
package final class Replica: Sendable {
    /// How many connections may read at the same time: as many as the mount has threads.
    static let readerLimit = 10
    /// How long the log grows before it is moved into the index, in pages of 4 KiB: each checkpoint costs two syncs.
    static let logPageLimit = 8192
    /// The page cache of the writing connection, in KiB.
    static let writerCacheKibibytes = 16 << 10
    /// The page cache of each reading connection, in KiB: a lookup of one item touches a few pages, and pages that
    /// several connections read are in the system's cache.
    static let readerCacheKibibytes = 1 << 10
    /// How long the index may be locked by another program, in seconds, before a call fails with `busy`.
    static let busySeconds = 5.0

    package let state: ReplicaDirectory
    /// The identity of this replica among the container's devices.
    package let device: DeviceID
    /// The report of start-up repair; empty after an orderly shutdown.
    package let repairReport: RepairReport

    /// The one connection that changes the index.
    let writer: DatabaseQueue
    /// Those of ``writer``, used on its queue.
    let statements: PreparedStatements
    private let readers: IndexReaders
    let backing: BackingDirectory
    let environment: ReplicaEnvironment
    let journal = IndexJournal()
    let descriptors = OpenBytes()
    private let lock: StateLock
    private let log: Descriptor
    let reserve: DiskReserve
    let batch = ChangeBatch()
    let appliedNumber: Atomic<CommitNumber>
    let knownQuota: Mutex<ContainerQuota?>
    let shownPreview = ShownPreview()
    private let isAlive = Atomic<Bool>(true)
    /// Set when the disk and the index are known to disagree: the next start repairs.
    private let needsRepair = Atomic<Bool>(false)
    private let postponed = Mutex(PostponedRemovals())
    private let unsyncedNames = Mutex(UnsyncedNames())

    init(opened: OpenedState, environment: ReplicaEnvironment) {
        state = opened.state
        device = opened.device
        repairReport = opened.report
        writer = opened.writer
        statements = writer.unsafeRead { PreparedStatements($0) }
        readers = opened.readers
        backing = opened.backing
        lock = opened.lock
        log = opened.log
        reserve = opened.reserve
        appliedNumber = Atomic(opened.applied)
        knownQuota = Mutex(opened.quota)
        self.environment = environment
    }

    /// The number of the newest applied commit.
    package var applied: CommitNumber { appliedNumber.load(ordering: .acquiring) }

    /// Runs `body` on one state of the index: whatever it reads agrees, and no change waits for it.
    ///
    /// `body` must not let its rows escape, and not read or change the replica otherwise.
    /// - Throws: The error of `body`, or why the index cannot be read.
    package func read<Value>(_ body: (Rows) throws -> Value) throws(FileError) -> Value {
        do throws(FileError) {
            try commitChanges()
        } catch {
            // What is done can be read although the disk has no room for the commit.
            guard error.code == .diskFull else { throw error }
            return try readNewest(body)
        }
        return try readCommitted(body)
    }

    /// Runs `body` on the state that is committed, as other connections see it.
    func readCommitted<Value>(_ body: (Rows) throws -> Value) throws(FileError) -> Value {
        try translated {
            try checkAlive()
            return try readers.read(body)
        }
    }

    func checkAlive() throws(FileError) {
        guard isAlive.load(ordering: .relaxed) else { throw FileError(.inputOutput, "the replica is closed") }
    }

    /// Runs `body` as one change: all of it or nothing, even after a crash.
    ///
    /// Changes run one after the other. `body` must only use its transaction, for reading too, and not let it escape.
    /// - Parameters:
    ///   - freeing: Whether the change frees disk space: then it may use the reserve.
    ///   - isLong: Whether it may be longer than the ``RedoLog``: then it is not tried with others in one transaction.
    /// - Throws: The error of `body`, after everything was undone; `diskFull`, after which the replica remains usable.
    @discardableResult
    package func change<Value>(
        freeing: Bool = false, isLong: Bool = false, _ body: (ReplicaTransaction) throws -> Value
    ) throws(FileError) -> Value {
        let value: Value
        do throws(FileError) {
            value = try attempt(isLong: isLong, body)
        } catch {
            guard error.code == .diskFull else { throw error }
            // Disk space that only serves a power failure is worth more now; the error to report is still that the disk
            // is full.
            try? removePostponed()
            if freeing {
                value = try reserve.lend { () throws(FileError) in
                    // Where the log cannot be shortened, the change may still fit into the reserve.
                    _ = shrinkLog()
                    return try attempt(isLong: isLong, body)
                }
            } else {
                guard shrinkLog() else { throw error }
                value = try attempt(isLong: isLong, body)
            }
        }
        if freeing { reserve.hold() }
        return value
    }

    private func attempt<Value>(
        isLong: Bool, _ body: (ReplicaTransaction) throws -> Value
    ) throws(FileError) -> Value {
        try translated {
            try withWriter { rows in
                if batch.isOn, !isLong, reserve.isHeld {
                    // Before the change: an error after it would be taken for one of the change, which is done.
                    if batch.isFull { try commitBatch(rows) }
                    do { return try attempt(inBatch: rows, body) } catch is ChangeBatch.Unbatchable {}
                }
                try commitBatch(rows)
                return try attempt(on: rows, body)
            }
        }
    }

    private func attempt<Value>(inBatch rows: Rows, _ body: (ReplicaTransaction) throws -> Value) throws -> Value {
        do {
            let recorded = Rows(database: rows.database, statements: rows.statements, recorder: batch.recorder)
            return try attempt(on: recorded, body)
        } catch {
            // Where there is no room for that, the reserve has some.
            if (try? restoreBatch(rows)) == nil { try commitBatch(rows) }
            throw error
        }
    }

    private func attempt<Value>(on rows: Rows, _ body: (ReplicaTransaction) throws -> Value) throws -> Value {
        try checkAlive()
        try checkTree()
        let changes = BackingChanges { step throws(FileError) in try self.interrupt(step) }
        let transaction = ReplicaTransaction(rows: rows, backing: backing, changes: changes, environment: environment)
        let value: Value
        let followed: IndexChanges?
        do {
            (value, followed) = try inTransaction(rows) {
                let value = try body(transaction)
                let followed = try journal.seal(rows)
                try changes.willCommit()
                return (value, followed)
            }
        } catch {
            journal.discard()
            undo(changes)
            throw error
        }
        if let applied = transaction.applied { appliedNumber.store(applied, ordering: .releasing) }
        if let followed { journal.publish(followed) }
        if !changes.directoriesWithNewFiles.isEmpty {
            unsyncedNames.withLock { $0.add(changes.directoriesWithNewFiles) }
        }
        try finish(changes, rows)
        return value
    }

    private func inTransaction<Value>(_ rows: Rows, _ body: () throws -> Value) throws -> Value {
        rows.recorder == nil ? try rows.inTransaction(body) : try batch.change(rows, body)
    }

    private func undo(_ changes: BackingChanges) {
        // A simulated crash leaves everything as it is.
        guard isAlive.load(ordering: .relaxed) else { return }
        if changes.metStranger || !changes.undo().isEmpty { needsRepair.store(true, ordering: .relaxed) }
        backing.forgetHandles()
    }

    private func finish(_ changes: BackingChanges, _ rows: Rows) throws {
        let errors = try changes.finish { parent, name throws(FileError) in
            try translated { try PlaceholderRefresh(rows: rows, backing: backing).run(name, in: parent) }
        } postpone: { removal in
            postponed.withLock { $0.add(removal) }
        }
        // The change itself is done; the next start clears the remains on the disk.
        if !errors.isEmpty { needsRepair.store(true, ordering: .relaxed) }
        guard postponed.withLock({ $0.isFull }) else { return }
        do throws(FileError) {
            try makeDurable { try commitBatch(rows) }
        } catch {
            // They stay postponed, and the next change tries it again. Other errors are of the disk, and are told.
            guard error.code == .diskFull else { throw error }
        }
    }

    /// A simulated crash in a test: from here on nothing is executed any more.
    private func interrupt(_ step: ChangeStep) throws(FileError) {
        guard let interrupt = environment.interrupt else { return }
        do { try interrupt(step) } catch {
            isAlive.store(false, ordering: .relaxed)
            throw FileError(.inputOutput, "crashed: \(error)", cause: error)
        }
    }

    /// Whether an item of a name is excluded from sync by the rules.
    package func isLocalOnly(_ name: ItemName, _ sample: ItemSample) throws -> Bool {
        try environment.ignorePatterns.ignores(name, sample)
    }

    /// For simulations: see ``ReplicaEnvironment/diskTime``.
    package func stamp(_ descriptor: Descriptor) throws(FileError) { try environment.stamp(descriptor) }

    /// Makes every change durable that was committed before the call. `fsync` of the mount ends here, after the bytes.
    ///
    /// - Parameter directory: The directory whose new files must be durable too, as after `fsync` of the directory: a
    ///   file that was never synced itself may come back without its bytes, but not without its name.
    package func makeDurable(namesIn directory: InodeNumber? = nil) throws(FileError) {
        try checkAlive()
        if let directory { try syncNewFiles(in: directory) }
        try makeDurable { try commitChanges() }
    }

    private func makeDurable(committing: () throws -> Void) throws(FileError) {
        // A checkpoint syncs the log before it moves anything out of it, so syncing the log is enough.
        let removals = postponed.withLock { $0.take() }
        do {
            try committing()
            try SystemCalls.syncData(log)
        } catch {
            postponed.withLock { $0.put(back: removals) }
            throw FileError(index: error)
        }
        remove(removals)
    }

    /// Makes the files durable that were created in a directory since this was last done.
    private func syncNewFiles(in directory: InodeNumber) throws(FileError) {
        guard unsyncedNames.withLock({ $0.take(directory) }) else { return }
        do throws(FileError) {
            if let handle = try backingDirectory(directory) { try SystemCalls.syncDirectory(handle) }
        } catch {
            // A directory that was removed has no names left.
            if error.code == .notFound { return }
            unsyncedNames.withLock { $0.add([directory]) }
            throw error
        }
    }

    private func backingDirectory(_ number: InodeNumber) throws(FileError) -> Descriptor? {
        do {
            return try look { try backing.directory(number, $0) }
        } catch  where error.code == .inputOutput {
            // The directory was renamed between the lookup and the call: within a change nothing moves.
            return try change { try backing.directory(number, $0.rows) }
        }
    }

    private func removePostponed() throws(FileError) {
        if postponed.withLock({ $0.isEmpty }) { return }
        try makeDurable()
    }

    /// How long the index's log must be to be worth shortening, in bytes.
    private static let shrinkableByteCount: Int64 = 1 << 20

    /// Moves the index's log into the index to free its disk space: for a disk that is nearly full.
    /// - Returns: Whether there is more space now.
    package func shrinkLog() -> Bool {
        do {
            guard isAlive.load(ordering: .relaxed), try SystemCalls.status(of: log).size > Self.shrinkableByteCount
            else {
                return false
            }
            try withWriter { rows in
                try commitBatch(rows)
                _ = try rows.database.checkpoint(.truncate)
            }
            return true
        } catch {
            // Even that does not fit, or a reader blocks it: the caller reports that the disk is full.
            return false
        }
    }

    private func remove(_ removals: [BackingChanges.Removal]) {
        for removal in removals {
            do throws(FileError) { try SystemCalls.unlink(removal.place) } catch {
                if error.code != .notFound { needsRepair.store(true, ordering: .relaxed) }
            }
        }
    }

    /// Makes the bytes of all unmodified files durable, so that a power failure does not cost their download, and all
    /// calls on the backing directory, so that removed files need not be remembered any longer.
    ///
    /// For an idle moment: it syncs the whole file system. Related: `syncfs(2)`.
    package func settle() throws(FileError) {
        // Files that become unmodified after the first statement are not covered by the sync and keep their 0.
        let clean = "local = 1 AND dirty = 0 AND kind = 0"
        let newest = try change { transaction in
            try transaction.rows.execute("UPDATE inodes SET settled = 2 WHERE settled = 0 AND \(clean)")
            return try transaction.rows.newestRemoved()
        }
        // What removed the files that are forgotten below must not be lost.
        try commitChanges()
        let names = unsyncedNames.withLock { $0.takeAll() }
        do throws(FileError) {
            try SystemCalls.syncFileSystem(of: backing.files)
        } catch {
            unsyncedNames.withLock { $0.put(back: names) }
            throw error
        }
        try change { transaction in
            try transaction.rows.execute("UPDATE inodes SET settled = 1 WHERE settled = 2 AND \(clean)")
        }
        while try forgetRemoved(upTo: newest) {}
    }

    /// How many rows one transaction deletes: others wait for it to end.
    private static let forgottenPerChange = 10_000

    /// - Returns: Whether there may be more.
    private func forgetRemoved(upTo newest: Int64) throws(FileError) -> Bool {
        try change { transaction in
            try transaction.rows.forgetRemoved(upTo: newest, limit: Self.forgottenPerChange) == Self.forgottenPerChange
        }
    }

    /// Closes the replica: everything is on the disk, and the next start needs no repair.
    package func close() throws(FileError) {
        try checkAlive()
        endPreview()
        backing.spare.remove()
        try stopBatches()
        try settle()
        try makeDurable()
        try translated {
            try writer.writeWithoutTransaction { database in _ = try database.checkpoint(.truncate) }
            isAlive.store(false, ordering: .relaxed)
            try readers.close()
            try closeWriter()
        }
        // Without the marker the next start trusts that index and disk agree.
        if !needsRepair.load(ordering: .relaxed) { try lock.removeRunningMarker() }
        lock.release()
    }

    private func closeWriter() throws {
        writer.unsafeRead { _ in statements.finalize() }
        try writer.close()
    }

    /// After an error that leaves changes undone which are acknowledged: nothing is executed any more.
    func closeUntilRestart() {
        needsRepair.store(true, ordering: .relaxed)
        isAlive.store(false, ordering: .relaxed)
    }

    /// Releases everything without finishing anything, like a killed process: for crash tests.
    package func abandon() {
        isAlive.store(false, ordering: .relaxed)
        // A killed process reports no errors.
        try? readers.close()
        try? closeWriter()
        lock.release()
    }
}
