import Foundation
import GRDB
import Linux
import Model

/// Start-up repair: makes the backing directory agree with the index after the process ended without
/// ``Replica/close()``.
///
/// The index has the place of every object; the identity of the files identifies them. Repair proceeds in these steps:
///
/// 1. directories are moved to their places in the index; unknown ones become items
/// 2. files are moved to their places in the index, changed ones are noted as local edits, missing ones become
///    placeholders
/// 3. finished downloads are completed, unfinished ones kept
/// 4. files that repair can account for are deleted: those that were being removed, those that the index knows to be
///    removed and a power failure brought back, and copies of the container's bytes
/// 5. files that the index does not know become items; after a power failure they are put aside in `recovered/`
///    instead, as they may be incomplete
/// 6. placeholders and symbolic links are made to match the index
///
/// A missing file is never taken for a deletion. Repair may itself be interrupted and run again.
struct Repair {
    let rows: Rows
    let backing: BackingDirectory
    let tree: RepairTree
    let transaction: ReplicaTransaction
    let before: StateLock.Before
    /// Files that were removed or replaced since the whole disk was last synced: the calls may not have reached the
    /// disk.
    let removed: RemovedIdentities
    let recovered: RecoveredFiles
    /// The node of each directory in the index.
    var nodes: [InodeNumber: Int] = [.root: RepairTree.files]
    var report = RepairReport()
    /// Downloads that were complete when the process ended.
    var completed: [InodeNumber] = []

    /// Work that repair leaves for the opened replica.
    struct Outcome {
        var report = RepairReport()
        var completed: [InodeNumber] = []
    }

    /// - Parameter before: How the previous daemon ended; after an orderly shutdown only leftovers are cleared.
    static func run(
        _ writer: DatabaseQueue, _ state: ReplicaDirectory, _ backing: BackingDirectory,
        _ environment: ReplicaEnvironment,
        before: StateLock.Before
    ) throws(FileError) -> Outcome {
        try translated {
            var outcome = Outcome()
            try writer.write { database in
                let rows = Rows(database: database)
                if !environment.isResumed { try removeOrphans(rows) }
                guard try before != .orderly || isEmptied(rows, backing) else {
                    return try clearStaging(rows, backing)
                }
                var repair = try Repair(rows, state, backing, environment, before)
                try repair.run()
                outcome = Outcome(report: repair.report, completed: repair.completed)
            }
            backing.forgetHandles()
            return outcome
        }
    }

    private init(
        _ rows: Rows, _ state: ReplicaDirectory, _ backing: BackingDirectory, _ environment: ReplicaEnvironment,
        _ before: StateLock.Before
    ) throws {
        self.rows = rows
        self.backing = backing
        self.before = before
        // The calls of a killed process are not undone.
        removed = before == .powerFailure ? try RemovedIdentities(rows) : RemovedIdentities()
        report.followsPowerFailure = before == .powerFailure
        recovered = RecoveredFiles(state)
        tree = try RepairTree(backing)
        transaction = ReplicaTransaction(
            rows: rows, backing: backing, changes: BackingChanges { _ in }, environment: environment)
    }

    private mutating func run() throws {
        try placeDirectories()
        try placeFiles()
        try placeTransfers()
        if before != .powerFailure { try adoptDirectories() }
        try repairFiles()
        try requestNewerBytes()
        try repairSymbolicLinks()
        try repairPlaceholders()
        try removeUnknownDirectories()
        for place in tree.others where tree.isInFiles(place) {
            report.lines.append("\(path(place)): neither a file nor a directory; left alone")
        }
    }

    /// Requests incoming bytes again: an eviction clears the request before it removes the older bytes, and may have
    /// been interrupted in between.
    private func requestNewerBytes() throws {
        try rows.execute(
            """
            UPDATE entries SET download_requested = 1
            WHERE inode IN (SELECT id FROM inodes WHERE local = 1 AND incoming IS NOT NULL)
            """)
    }

    /// Removes files that were unlinked while open: no process has them open now.
    private static func removeOrphans(_ rows: Rows) throws {
        let orphans = "SELECT id FROM inodes WHERE links = 0 AND id <> 1"
        for number in try rows.all(orphans, [], { InodeNumber(row: $0[0]) }) { try rows.noteRemoved(number) }
        for table in ["transfers", "xattrs"] { try rows.execute("DELETE FROM \(table) WHERE inode IN (\(orphans))") }
        try rows.execute("DELETE FROM inodes WHERE links = 0 AND id <> 1")
    }

    /// Whether the backing directory is empty although the index has local files: worth a check.
    private static func isEmptied(_ rows: Rows, _ backing: BackingDirectory) throws -> Bool {
        try rows.exists("SELECT 1 FROM inodes WHERE local = 1 AND kind = 0 LIMIT 1", [])
            && SystemCalls.names(in: backing.files).isEmpty
    }

    /// After an orderly shutdown: removes the bytes of files that were unlinked while open, and downloads without a
    /// request.
    private static func clearStaging(_ rows: Rows, _ backing: BackingDirectory) throws {
        for name in try SystemCalls.names(in: backing.removed) {
            let place = BackingPlace(directory: backing.removed, name: name)
            if try !SystemCalls.status(place).isDirectory { try SystemCalls.unlink(place) }
        }
        let kept = Set(try rows.all("SELECT file FROM transfers", []) { $0[0] as String })
        for name in try SystemCalls.names(in: backing.downloads) where !kept.contains(name) {
            try SystemCalls.unlink(BackingPlace(directory: backing.downloads, name: name))
        }
    }

    func path(_ place: RepairTree.EntryKey) -> String { tree.path(place) }
}
