import Foundation
import GRDB
import Model

/// Start-up repair: has the backing directory agree with the index again after an end without ``Replica/close()``.
///
/// The index says what is where; the identity of the files says which is which. So repair goes like this:
///
/// 1. directories are moved to where the index has them; unknown ones become items
/// 2. files are moved to where the index has them, changed ones are noted as local edits, missing ones become placeholders
/// 3. finished downloads are completed, unfinished ones kept
/// 4. what repair can account for is deleted: what was on its way out, what the index knows to be removed and a power failure
///    brought back, and copies of what the container has
/// 5. what the index does not know becomes an item; after a power failure it is put aside in `recovered/` instead, as nobody can
///    tell whether it is whole
/// 6. placeholders and symbolic links follow the index
///
/// A missing file is never taken for a deletion. Repair may itself be interrupted and run again.
struct Repair {
    let rows: Rows
    let backing: BackingDirectory
    let tree: RepairTree
    let transaction: ReplicaTransaction
    let before: StateLock.Before
    /// What was removed or replaced since the whole disk was last synced: the calls that did so may not have reached the disk.
    let removed: RemovedIdentities
    let recovered: RecoveredFiles
    /// Which node an index directory stands on.
    var nodes: [InodeNumber: Int] = [.root: RepairTree.files]
    var report = RepairReport()
    /// Downloads that were whole when the end came.
    var completed: [InodeNumber] = []

    /// What repair leaves to be done through the opened replica.
    struct Outcome {
        var report = RepairReport()
        var completed: [InodeNumber] = []
    }

    /// - Parameter before: How the daemon before ended; after an orderly end only leftovers are cleared.
    static func run(
        _ writer: DatabaseQueue, _ state: StateDirectory, _ backing: BackingDirectory,
        _ environment: ReplicaEnvironment,
        before: StateLock.Before
    ) throws(FileError) -> Outcome {
        try translated {
            var outcome = Outcome()
            try writer.write { database in
                let rows = Rows(database: database)
                try removeOrphans(rows)
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
        _ rows: Rows, _ state: StateDirectory, _ backing: BackingDirectory, _ environment: ReplicaEnvironment,
        _ before: StateLock.Before
    ) throws {
        self.rows = rows
        self.backing = backing
        self.before = before
        // What a killed process did stays done.
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
            report.lines.append("\(path(place)): neither a file nor a directory; left as it is")
        }
    }

    /// Newer bytes are requested again: an eviction clears the request before it removes the older bytes, and may have been cut off there.
    private func requestNewerBytes() throws {
        try rows.execute(
            """
            UPDATE entries SET download_requested = 1
            WHERE inode IN (SELECT id FROM inodes WHERE here = 1 AND incoming IS NOT NULL)
            """)
    }

    /// Files that were unlinked while open are gone with those who had them open.
    private static func removeOrphans(_ rows: Rows) throws {
        let orphans = "SELECT id FROM inodes WHERE links = 0 AND id <> 1"
        for number in try rows.all(orphans, [], { InodeNumber(row: $0[0]) }) { try rows.noteRemoved(number) }
        for table in ["transfers", "xattrs"] { try rows.execute("DELETE FROM \(table) WHERE inode IN (\(orphans))") }
        try rows.execute("DELETE FROM inodes WHERE links = 0 AND id <> 1")
    }

    /// Whether the backing directory holds nothing although the index knows of bytes in it: worth a look.
    private static func isEmptied(_ rows: Rows, _ backing: BackingDirectory) throws -> Bool {
        try rows.exists("SELECT 1 FROM inodes WHERE here = 1 AND kind = 0 LIMIT 1", [])
            && SystemCalls.names(in: backing.files).isEmpty
    }

    /// After an orderly end: bytes of what was unlinked while open, and downloads that nobody waits for.
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
