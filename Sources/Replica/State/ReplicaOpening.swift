import Foundation
import GRDB
import GRDBSQLite
import Glibc
import Linux
package import Model

/// The result of opening a state directory.
struct OpenedState {
    var state: ReplicaDirectory
    var writer: DatabaseQueue
    var readers: IndexReaders
    var backing: BackingDirectory
    var lock: StateLock
    var log: Descriptor
    var reserve: DiskReserve
    var device: DeviceID
    var applied: CommitNumber
    var quota: ContainerQuota?
    var report: RepairReport
}

extension Replica {
    /// Opens a replica, or creates it: locks its directory, migrates the index, and repairs the state if the last run
    /// ended without ``close()``.
    ///
    /// - Parameter state: The state directory, created with mode 0700 if missing.
    /// - Throws: `busy` when another daemon uses it; `invalid` when it belongs to another container; `inputOutput` when
    ///   the backing directory is another one, or is missing or emptied while the index has bytes in it, or when the
    ///   index is missing while the backing directory has files: absence is never a deletion.
    package static func open(
        _ state: String, container: ContainerIdentity, environment: ReplicaEnvironment
    ) throws(FileError) -> Replica {
        let state = ReplicaDirectory(state)
        try makeDirectories(state.path)
        let lock = try StateLock(state)
        if let place = StateMove.destination(of: state) { throw StateMove.moved(state, to: place) }
        DiskReserve.makeRoomToOpen(state)
        try StateDisk.check(state)
        let before = lock.before()
        // Until the index has what is in `files/`, neither says anything about the other: see ``take(_:at:)``.
        let taking = try TreeTaking(of: state.path)
        if let refusal = taking?.refusal { throw refusal }
        let isTaking = taking != nil
        if !isTaking { try BackingAbsence.checkIndex(of: state) }
        let (writer, unmade) = try translated { try openIndex(state, redoing: before == .orderly ? nil : state) }
        let readers = try translated {
            try IndexReaders(limit: readerLimit) {
                try DatabaseQueue(path: state.index, configuration: configuration(readonly: true))
            }
        }
        let device = try translated { try introduce(writer, container, environment) }
        try translated { try openFiles(state, writer, isTaking: isTaking) }
        for directory in [state.staging, state.downloads, state.removed, state.aside] { try makeDirectories(directory) }
        let backing = try BackingDirectory(state, makeNumber: environment.makeNumber)
        // From here on, ending without close() leaves the marker.
        try lock.writeRunningMarker()
        var outcome =
            isTaking ? Repair.Outcome() : try Repair.run(writer, state, backing, environment, before: before)
        if let unmade { outcome.report.lines.append(unmade) }
        let log = try Descriptor(state.log, O_RDONLY)
        let (applied, quota) = try translated {
            try writer.read { database in
                let rows = Rows(database: database)
                let quota = try rows.meta(.quota, as: Int64.self)
                return (
                    try rows.meta(.applied, as: Int64.self) ?? 0,
                    quota.map { ContainerQuota(byteCount: $0) } ?? container.settings.quota
                )
            }
        }
        let replica = Replica(
            opened: OpenedState(
                state: state, writer: writer, readers: readers, backing: backing, lock: lock,
                log: log,
                reserve: try DiskReserve(state), device: device, applied: CommitNumber(bitPattern: applied),
                quota: quota,
                report: outcome.report),
            environment: environment)
        for number in outcome.completed { try replica.completeDownload(of: number) }
        return replica
    }

    /// Completes a download whose bytes were complete when the process ended.
    private func completeDownload(of number: InodeNumber) throws(FileError) {
        do throws(FileError) { try change { _ = try $0.downloads.finish(of: number) } } catch {
            guard error.code == .superseded else { throw error }
            try change(freeing: true) { try $0.downloads.discard(of: number) }
        }
    }

    private static func makeDirectories(_ path: String) throws(FileError) {
        try translated {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        }
        try SystemCalls.setMode(of: path, 0o700)
    }

    private static func configuration(readonly: Bool) -> Configuration {
        var configuration = Configuration()
        configuration.readonly = readonly
        // A batch of changes stays open.
        configuration.allowsUnsafeTransactions = !readonly
        configuration.journalMode = .wal
        configuration.foreignKeysEnabled = false
        configuration.busyMode = .timeout(busySeconds)
        configuration.label = "index"
        configuration.prepareDatabase { database in
            // A commit is in the log, and so survives kill -9, at once; makeDurable() does the rest.
            try database.execute(sql: "PRAGMA synchronous = NORMAL")
            try database.execute(sql: "PRAGMA wal_autocheckpoint = \(logPageLimit)")
            database.add(function: ItemRecord.usageFunction)
            // What a change may have to undo is kept in memory, not in a file: a few pages.
            try database.execute(sql: "PRAGMA temp_store = MEMORY")
            try database.execute(sql: "PRAGMA cache_size = -\(readonly ? readerCacheKibibytes : writerCacheKibibytes)")
        }
        return configuration
    }

    /// Has SQLite keep the index of its log in the memory of the process, and the database locked for others.
    ///
    /// Otherwise it is a mapped file beside the database, `-shm`. A write to a mapped page that the disk has no room
    /// for ends the process with SIGBUS: SQLite writes a byte of each page in advance, but blocks can be smaller than
    /// pages, and some file systems need room for each change. Related: https://www.sqlite.org/vfs.html, "unix-excl".
    private static let hasPrivateLogIndex: Bool = {
        guard let system = sqlite3_vfs_find("unix-excl") else { return false }
        return sqlite3_vfs_register(system, 1) == SQLITE_OK
    }()

    /// Opens the index, and brings it to the newest version.
    ///
    /// - Parameter ended: The state of a daemon that did not end in order: what it had done is made in the index first.
    /// - Returns: The index, and what could not be made, in a sentence.
    static func openIndex(
        _ state: ReplicaDirectory, redoing ended: ReplicaDirectory?
    ) throws -> (DatabaseQueue, unmade: String?) {
        guard hasPrivateLogIndex else {
            throw FileError(.unsupported, "this SQLite has no file system \"unix-excl\": use Debian's libsqlite3-0")
        }
        let writer = try DatabaseQueue(path: state.index, configuration: configuration(readonly: false))
        // A newer version may have given data a meaning that is unknown here: nothing is touched.
        guard try !writer.read({ try IndexMigrations.migrator.hasBeenSuperseded($0) }) else {
            throw FileError(
                .unsupported,
                "a newer version of Dewpoint has used it: update Dewpoint, or mount with a new --state DIR")
        }
        if DiskReserve.isNeeded(state) {
            // Data that an earlier run left in the log takes space twice; if it cannot be moved, the first change
            // reports it.
            try? writer.writeWithoutTransaction { database in _ = try database.checkpoint(.truncate) }
        }
        let unmade = try ended.flatMap { ended in
            try writer.writeWithoutTransaction { try RedoLog.replay(of: ended, into: $0) }
        }
        try IndexMigrations.migrator.migrate(writer)
        for path in [state.index, state.log] where access(path, F_OK) == 0 {
            try SystemCalls.setMode(of: path, 0o600)
        }
        return (writer, unmade)
    }

    /// The error of opening a state with another container than the one whose it is.
    package static func otherContainer(_ known: String, than given: ContainerIdentifier) -> FileError {
        FileError(
            .invalid,
            known == given.description
                ? "another container with the id \(known) was mounted on this machine before, and has its state there; "
                    + "give this one its own --state DIR, or another id when you create it"
                : "the state directory belongs to another container, \(known); choose another with --state DIR")
    }

    /// Assigns a new index to this container, or verifies that it belongs to it.
    private static func introduce(
        _ writer: DatabaseQueue, _ container: ContainerIdentity, _ environment: ReplicaEnvironment
    ) throws -> DeviceID {
        try writer.write { database in
            let rows = Rows(database: database)
            if let text = try rows.meta(.containerUUID, as: String.self) {
                guard UUID(uuidString: text) == container.uuid else {
                    let id = try rows.meta(.containerID, as: String.self) ?? text
                    throw otherContainer(id, than: container.id)
                }
                guard let device = try rows.meta(.device, as: String.self).flatMap({ DeviceID($0) }) else {
                    throw PackedReader.damaged
                }
                return device
            }
            let device = DeviceID(uuid: environment.makeItemID().uuid)
            try rows.setMeta(.containerUUID, container.uuid.uuidString.lowercased())
            try rows.setMeta(.containerID, container.id.description)
            try rows.setMeta(.device, device.description)
            try rows.setMeta(.applied, 0)
            try makeRoot(rows, environment)
            return device
        }
    }

    private static func makeRoot(_ rows: Rows, _ environment: ReplicaEnvironment) throws {
        let now = environment.now().rawValue
        try rows.execute(
            """
            INSERT INTO inodes(id, kind, mode, owner, grp, links, size, blocks, accessed, modified, changed, device, local,
                dirty, generation)
            VALUES(1, ?1, ?2, ?3, ?4, 2, ?5, ?6, ?7, ?7, ?7, 0, 1, 0, 0)
            """,
            [
                Int64(ItemKind.directory.number), Int64(InodeRow.rootMode), Int64(environment.owner),
                Int64(environment.group),
                InodeRow.directorySize, InodeRow.directoryBlocks, now,
            ])
    }

    /// Verifies that `files/` is the directory that the index knows, or creates it.
    private static func openFiles(_ state: ReplicaDirectory, _ writer: DatabaseQueue, isTaking: Bool) throws {
        try writer.write { database in
            let rows = Rows(database: database)
            let known: BackingIdentity? = try rows.meta(.filesInode, as: Int64.self).map {
                BackingIdentity(inode: UInt64(bitPattern: $0), born: try rows.meta(.filesBorn, as: Int64.self) ?? 0)
            }
            let holdsBytes = try rows.exists("SELECT 1 FROM inodes WHERE local = 1 AND kind = 0 LIMIT 1", [])
            if let present = try presentFiles(state) {
                if let known, known.matches(present.identity) {
                    if !isTaking { try BackingAbsence.checkContents(of: state, rows) }
                    return
                }
                // Even a copy that has no bytes is refused: two states of one device would take each other's changes
                // for their own.
                if known != nil {
                    throw FileError(
                        .inputOutput,
                        "\(state.files) is not the directory that holds this container's bytes; put the right one back. A state is moved "
                            + "to another disk with: dewpoint move-state OLD NEW. A copy cannot be used")
                }
            } else {
                if known != nil, holdsBytes {
                    throw FileError(
                        .inputOutput, "\(state.files), which holds this container's bytes, is missing; put it back")
                }
                try makeDirectories(state.files)
            }
            guard let made = try presentFiles(state) else { throw FileError(.inputOutput, "\(state.files) is missing") }
            try rows.setMeta(.filesInode, Int64(bitPattern: made.identity.inode))
            try rows.setMeta(.filesBorn, made.identity.born)
            try rows.setBacking(.root, made)
            // No object of an older directory is in this one.
            try rows.execute("UPDATE inodes SET backing = NULL, born = NULL, visited = 0 WHERE id <> 1 AND kind <> 0")
            try rows.execute("UPDATE inodes SET visited = 0 WHERE id = 1")
        }
    }

    private static func presentFiles(_ state: ReplicaDirectory) throws(FileError) -> BackingStatus? {
        var status = stat()
        do throws(FileError) { try SystemCalls.check("stat", state.files) { lstat(state.files, &status) } } catch {
            guard error.code == .notFound else { throw error }
            return nil
        }
        return try SystemCalls.status(of: try BackingDirectory.openDirectory(state.files))
    }
}
