/// The parts of a replica's directory.
///
///     index.sqlite        names, metadata, outbox, transfers (SQLite, WAL)
///     files/              the backing directory: the container's tree as iCloud lays it out on disk
///     staging/downloads/  bytes being downloaded, sparse files of full size
///     staging/removed/    removed or replaced files that must outlive the commit; bytes of unlinked open files
///     staging/snapshots/  snapshots of the container being written or read; emptied at every start
///     staging/aside/      unknown files that were in repair's way: adopted, never deleted
///     recovering.PID/     a state that is being recovered into this one's mount; removed by the command, or by the next
///     recovered/          files that repair did not know after a power failure, for the user to inspect
///     taking              a directory that is being taken over, or given back: until that is complete
///     running             boot and mount of the disk, process id of the daemon; left after an unclean end
///     redo                changes that survive kill -9 and are not in the index yet
///     reserve             space for removals on a full disk
///     moved               the new path after a move; the directory is no longer a state
///     lock                locked by flock(2) while a daemon runs
package struct ReplicaDirectory: Hashable, Sendable {
    package let path: String

    package init(_ path: String) { self.path = path }

    package var index: String { "\(path)/index.sqlite" }
    package var log: String { "\(path)/index.sqlite-wal" }
    package var files: String { "\(path)/files" }
    package var staging: String { "\(path)/staging" }
    package var downloads: String { "\(path)/staging/downloads" }
    package var removed: String { "\(path)/staging/removed" }
    package var snapshots: String { "\(path)/staging/snapshots" }
    package var aside: String { "\(path)/staging/aside" }
    package var recovered: String { "\(path)/recovered" }
    package var running: String { "\(path)/running" }
    package var redo: String { "\(path)/redo" }
    package var reserveName: String { "reserve" }
    package var lock: String { "\(path)/lock" }
}
