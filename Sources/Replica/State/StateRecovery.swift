import Foundation
import GRDB
import Glibc
import Linux
package import Model

/// Makes a new state of one whose machine is lost: mounted, it uploads what the container does not have.
///
/// The old state is only read. It may be on a disk that is mounted read-only, and it may be a copy, from a backup say:
/// in a copy the files have other numbers on the disk than the index knows, and are found by their paths. Bytes that
/// the container has are left out.
///
///     NEW/index.sqlite             a copy, with the files' new numbers
///     NEW/staging/removed/NUMBER   the bytes of changed files, which start-up repair moves to their places
package struct StateRecovery {
    private let old: ReplicaDirectory
    private let new: ReplicaDirectory
    private let keepsDeletions: Bool
    private var report = StateFindings()
    private var copy = StateCopy()
    /// The file that a status on the old disk belongs to, if the numbers on that disk are those of the index.
    private var files: [UInt64: FileRow] = [:]
    private var findsByPath = false
    private var before = StateLock.Before.orderly
    private var removed = RemovedIdentities()
    /// Files that were to be replaced, and stand in the place of those that replaced them.
    private var predecessors: [InodeNumber: (place: BackingPlace, status: BackingStatus)] = [:]

    /// - Parameters:
    ///   - new: The new state; an empty directory, or one that does not exist.
    ///   - keepsDeletions: Whether the new state uploads deletions too. Those that make room for another item are always
    ///     uploaded.
    package init(from old: String, to new: String, keepsDeletions: Bool) {
        self.old = ReplicaDirectory(old)
        self.new = ReplicaDirectory(new)
        self.keepsDeletions = keepsDeletions
    }

    /// A file whose bytes are local.
    private struct FileRow {
        var number: InodeNumber
        var identity: BackingIdentity
        var size: Int64
        var modified: Timestamp
        var changed: Timestamp
        /// Whether the container has the bytes that the index knows.
        var isInContainer: Bool
        var isSettled: Bool

        /// Whether the file on the disk is as the index knows it.
        func matches(_ status: BackingStatus) -> Bool { status.size == size && status.modified == modified }
    }

    /// Blocks until the new state is complete.
    ///
    /// - Throws: `notFound` without an index; `busy` while a daemon uses the old state; `invalid` when it was moved;
    ///   `unsupported` when a newer version has used it; `diskFull`; other errors when the index cannot be read.
    package mutating func run() throws(FileError) -> StateFindings {
        guard access(old.index, F_OK) == 0 else { throw FileError(.notFound, "there is no index in \(old.path)") }
        if let place = StateMove.destination(of: old) { throw StateMove.moved(old, to: place) }
        let lock = try StateLock.hold(old)
        before = StateLock.before(old)
        for directory in [new.path, new.files, new.staging, new.downloads, new.removed, new.aside] {
            try SystemCalls.makeDirectory(ifMissing: directory)
        }
        try copyIndex()
        let (writer, unmade) = try translated { try Replica.openIndex(new, redoing: before == .orderly ? nil : old) }
        if let unmade { report.problems.append(unmade) }
        try translated {
            try writer.write { database in
                let rows = Rows(database: database)
                try prepare(rows)
                try copyFiles(rows)
                try finish(rows)
            }
            try writer.close()
        }
        try mark()
        withExtendedLifetime(lock) {}
        return report
    }

    private mutating func copyIndex() throws(FileError) {
        let (source, target) = (
            try BackingDirectory.openDirectory(old.path), try BackingDirectory.openDirectory(new.path)
        )
        for path in [old.index, old.log] where access(path, F_OK) == 0 {
            let name = String(decoding: path.utf8.dropFirst(old.path.utf8.count + 1), as: UTF8.self)
            let from = BackingPlace(directory: source, name: name)
            let to = BackingPlace(directory: target, name: name)
            try copy.copyFile(from, to, try SystemCalls.status(from))
            // In a backup that nobody may write, it may be read-only.
            try SystemCalls.setMode(to, 0o600)
        }
    }

    // MARK: The index

    /// Reads what is needed of the index before the numbers in it are replaced.
    private mutating func prepare(_ rows: Rows) throws {
        report.container = try rows.meta(.containerID, as: String.self) ?? ""
        let known = BackingIdentity(
            inode: UInt64(bitPattern: try rows.meta(.filesInode, as: Int64.self) ?? 0),
            born: try rows.meta(.filesBorn, as: Int64.self) ?? 0)
        findsByPath = try !SystemCalls.status(of: BackingDirectory.openDirectory(old.files)).identity.matches(known)
        for row in try Self.localFiles(rows, "") { files[row.identity.inode] = row }
        // The calls of a killed process are not undone.
        if before == .powerFailure, !findsByPath { removed = try RemovedIdentities(rows) }
        try dropDeletions(rows)
        try rows.setMeta(.syncPaused, nil)
        try rows.setMeta(.deletionsHeld, nil)
        try rows.execute("UPDATE entries SET paused = 0 WHERE paused <> 0")
        // Nothing is downloaded for a state that will be removed.
        try rows.setMeta(.rootPinned, nil)
        try rows.execute("DELETE FROM rules")
        try rows.execute("UPDATE entries SET pinned = NULL, download_requested = 0, error = NULL")
        report.changeCount = try rows.count("SELECT count(*) FROM outbox WHERE deleted_base IS NULL")
        let unsynced = """
            SELECT e.parent, e.name FROM entries e WHERE e.item IS NULL AND (e.parent = 1
            OR EXISTS(SELECT 1 FROM entries d WHERE d.inode = e.parent AND d.item IS NOT NULL))
            """
        for (parent, name) in try rows.all(unsynced, [], { (InodeNumber(row: $0[0]), try ItemName($0[1] as String)) }) {
            report.unsyncedPaths.append(String(decoding: try rows.path(of: name, in: parent), as: UTF8.self))
        }
    }

    private static func localFiles(
        _ rows: Rows, _ condition: String, _ arguments: StatementArguments = []
    ) throws -> [FileRow] {
        try rows.all(
            """
            SELECT i.id, i.backing, i.born, i.size, i.backing_modified, i.backing_changed,
            i.dirty = 0 AND i.content IS NOT NULL AND EXISTS(SELECT 1 FROM entries s WHERE s.inode = i.id AND s.item IS NOT NULL),
            i.settled = 1 FROM inodes i WHERE i.kind = 0 AND i.local = 1 \(condition)
            """, arguments
        ) {
            FileRow(
                number: InodeNumber(row: $0[0]),
                identity: BackingIdentity(
                    inode: UInt64(bitPattern: $0[1] as Int64? ?? 0), born: $0[2] as Int64? ?? 0),
                size: $0[3], modified: Timestamp(rawValue: $0[4] as Int64? ?? 0),
                changed: Timestamp(rawValue: $0[5] as Int64? ?? 0), isInContainer: $0[6], isSettled: $0[7])
        }
    }

    /// Takes deletions out of the outbox, except those without which another item could not have its name.
    private mutating func dropDeletions(_ rows: Rows) throws {
        guard !keepsDeletions else { return }
        let deletions = try rows.all(
            "SELECT item, base_parent, base FROM outbox WHERE deleted_base IS NOT NULL ORDER BY position", []
        ) { (item: ItemID(uuid: $0[0]), parent: ($0[1] as UUID?).map { ItemID(uuid: $0) }, record: $0[2] as Data?) }
        for deletion in deletions {
            let name = try deletion.record.map { try ItemRecord(packed: $0).name }
            var directory: InodeNumber?
            if let parent = deletion.parent {
                directory = parent == .root ? .root : try rows.entryRow(of: parent)?.inode
            }
            if let name, let directory, try rows.entryRow(name, in: directory)?.item != nil { continue }
            try rows.outbox.dequeue(deletion.item)
            guard let name else { continue }
            // Of what was in a deleted directory, only the name is known.
            let path = try directory.map { try rows.path(of: name, in: $0) }
            report.deletedPaths.append(path.map { String(decoding: $0, as: UTF8.self) } ?? name.string)
        }
    }

    // MARK: The files

    /// A directory of the old state whose files are to be copied.
    private struct Frame {
        /// Opened when its turn comes: of those that wait, only the directory that they are in is open.
        var place: BackingPlace
        /// Below `files/`; `nil` elsewhere.
        var path: String?
        /// The directory in the index that has its path.
        var number: InodeNumber?
    }

    private mutating func copyFiles(_ rows: Rows) throws {
        try rows.execute("UPDATE inodes SET backing = NULL, born = NULL WHERE backing IS NOT NULL")
        try rows.execute("UPDATE inodes SET visited = 0 WHERE visited <> 0")
        try rows.execute("DELETE FROM transfers")
        try rows.execute("DELETE FROM removed")
        let target = try BackingDirectory.openDirectory(new.removed)
        func frame(_ directory: String, path: String? = nil, number: InodeNumber? = nil) throws -> Frame {
            let place = BackingPlace(directory: try BackingDirectory.openDirectory(directory), name: ".")
            return Frame(place: place, path: path, number: number)
        }
        var stack = [try frame(old.files, path: "", number: .root)]
        for path in [old.removed, old.aside] where access(path, F_OK) == 0 { stack.append(try frame(path)) }
        while let frame = stack.popLast() {
            do { stack += try copyFiles(of: frame, to: target, rows) } catch let error as FileError {
                try note(error, frame.path ?? "staging")
            }
        }
        try copyPredecessors(to: target, rows)
    }

    /// - Returns: The directories in it.
    private mutating func copyFiles(of frame: Frame, to target: Descriptor, _ rows: Rows) throws -> [Frame] {
        var inner: [Frame] = []
        let entries = try frame.number.map { try Self.entries(in: $0, rows) } ?? [:]
        let directory = try SystemCalls.open(frame.place, O_RDONLY | O_DIRECTORY)
        for name in try SystemCalls.names(in: directory) {
            let place = BackingPlace(directory: directory, name: name)
            let path = frame.path.map { $0.isEmpty ? name : "\($0)/\(name)" }
            do {
                let status = try SystemCalls.status(place)
                if status.isDirectory {
                    inner.append(Frame(place: place, path: path, number: entries[DiskName(string: name)]))
                } else if status.isFile {
                    let known = entries[DiskName(string: name)]
                    let row =
                        try findsByPath
                        ? known.flatMap { try Self.localFiles(rows, "AND i.id = ?", [$0.row]).first }
                        : files[status.identity.inode].flatMap { $0.identity.matches(status.identity) ? $0 : nil }
                    if PlaceholderName.looksLikePlaceholder(name), try PlaceholderFile.read(place) != nil { continue }
                    if let row {
                        try copyFile(place, status, row, to: target, rows)
                    } else {
                        try noteUnknown(place, status, path: path, known, rows)
                    }
                }
            } catch let error as FileError {
                try note(error, path ?? name)
            }
        }
        return inner
    }

    /// The inodes of a directory's entries, by their names on the disk.
    private static func entries(in directory: InodeNumber, _ rows: Rows) throws -> [DiskName: InodeNumber] {
        let pairs = try rows.entryRows(in: directory).map {
            (DiskName(string: PlaceholderName.backingName(of: $0.name)), $0.inode)
        }
        return Dictionary(pairs) { first, _ in first }
    }

    /// Copies the bytes of a file that the container does not have.
    private mutating func copyFile(
        _ place: BackingPlace, _ status: BackingStatus, _ row: FileRow, to target: Descriptor, _ rows: Rows
    ) throws {
        if row.isInContainer {
            // After a power failure nothing is known of bytes that the index has not recorded: as in repair.
            if row.matches(status) || (before == .powerFailure && !row.isSettled) { return }
        }
        let copied = BackingPlace(directory: target, name: "\(row.number.row)")
        // A file with several names.
        if try SystemCalls.statusIfPresent(copied) != nil { return }
        do {
            try copy.copyFile(place, copied, status)
            // The index has the mode that programs see.
            try SystemCalls.setMode(copied, BackingObjects.mode(status.mode))
        } catch {
            // Half of a file looks like a whole one.
            try? SystemCalls.unlink(copied)
            throw error
        }
        let made = try SystemCalls.status(copied)
        try rows.execute(
            "UPDATE inodes SET backing = ?, born = ?, backing_changed = ? WHERE id = ?",
            [
                Int64(bitPattern: made.identity.inode), made.identity.born,
                (status.changed == row.changed ? made.changed : row.changed).rawValue, row.number.row,
            ])
    }

    /// - Parameter known: The item that has the path in the index.
    private mutating func noteUnknown(
        _ place: BackingPlace, _ status: BackingStatus, path: String?, _ known: InodeNumber?, _ rows: Rows
    ) throws {
        // Elsewhere, it was on its way out.
        guard status.size > 0, let path else { return }
        let row = try known.map { try rows.inodeRow($0) }
        if removed.contains(status.identity) {
            if let row { predecessors[row.number] = (place, status) }
            return
        }
        // What was evicted, and a power failure brought back.
        if let row, row.kind == .file, !row.isLocal, status.size == row.attributes.size,
            status.modified == row.attributes.modified
        {
            return
        }
        report.unknownPaths.append(path)
    }

    /// A file that replaced another without having been synced may never have reached the disk: then the other one has
    /// the newest bytes that are there.
    private mutating func copyPredecessors(to target: Descriptor, _ rows: Rows) throws {
        for (number, file) in predecessors {
            let missing = "AND i.id = ? AND i.dirty = 1 AND i.backing IS NULL"
            guard let row = try Self.localFiles(rows, missing, [number.row]).first else { continue }
            try copyFile(file.place, file.status, row, to: target, rows)
        }
    }

    /// A file that cannot be read does not keep the others from being recovered.
    private mutating func note(_ error: FileError, _ path: String) throws {
        switch error.code {
        case .diskFull, .overQuota, .tooManyOpenFiles: throw error
        default: report.problems.append("\(path) cannot be read: \(error.detail)")
        }
    }

    private mutating func finish(_ rows: Rows) throws {
        try noteMissing(rows)
        // What was left out becomes a placeholder. Repair would do the same, with a line of the log for each.
        try rows.execute(
            """
            UPDATE inodes SET local = 0, settled = 0, blocks = CASE WHEN size > 0 THEN ? ELSE 0 END
            WHERE kind = 0 AND local = 1 AND dirty = 0 AND backing IS NULL AND content IS NOT NULL AND incoming IS NULL
            AND EXISTS(SELECT 1 FROM entries e WHERE e.inode = inodes.id AND e.item IS NOT NULL)
            """, [InodeRow.placeholderBlocks(size: 1)])
        let files = try SystemCalls.status(of: BackingDirectory.openDirectory(new.files))
        try rows.setMeta(.filesInode, Int64(bitPattern: files.identity.inode))
        try rows.setMeta(.filesBorn, files.identity.born)
        try rows.setBacking(.root, files)
    }

    /// Names the changed files whose bytes are not on the old disk; the container's bytes stay then.
    private mutating func noteMissing(_ rows: Rows) throws {
        let missing = try rows.all(
            """
            SELECT e.parent, e.name FROM inodes i JOIN entries e ON e.inode = i.id
            WHERE i.kind = 0 AND i.local = 1 AND i.dirty = 1 AND i.backing IS NULL AND i.size > 0
            """, []
        ) { (InodeNumber(row: $0[0]), try ItemName($0[1] as String)) }
        for (parent, name) in missing {
            let path = String(decoding: try rows.path(of: name, in: parent), as: UTF8.self)
            report.problems.append("\(path): its changed bytes are not in the old state")
        }
        // An empty `files/` would count as emptied. Repair removes the directory.
        let place = BackingPlace(directory: try BackingDirectory.openDirectory(new.files), name: "recovered")
        try SystemCalls.makeDirectory(place)
    }

    /// Has the next start repair the state as the next start of the old one would have.
    private func mark() throws(FileError) {
        if before == .powerFailure {
            return try translated { try "lost 0\n".write(toFile: new.running, atomically: true, encoding: .utf8) }
        }
        let lock = try StateLock(new)
        defer { lock.release() }
        try lock.writeRunningMarker()
    }
}
