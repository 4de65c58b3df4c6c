/// The parts of a replica's directory.
///
///     index.sqlite        names, metadata, outbox, transfers (SQLite, WAL)
///     files/              the backing directory: the container's tree as iCloud lays it out on disk
///     staging/downloads/  bytes that are coming in, sparse files of full size
///     staging/removed/    what was removed or replaced and must outlive the commit that says so; bytes of unlinked open files
///     staging/snapshots/  snapshots of the container on their way out or in; emptied at every start
///     staging/aside/      files that repair found in the way and does not know: adopted, never deleted
///     recovered/          files that repair did not know after a power failure; there for the user to look at
///     running             boot and mount of the disk, process id of the daemon; there at start: the end before was not orderly
///     reserve             room for removals on a full disk
///     moved               where the state was moved; then it is one no more
///     lock                held by flock(2) for a daemon's life
package struct StateDirectory: Hashable, Sendable {
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
    package var reserveName: String { "reserve" }
    package var lock: String { "\(path)/lock" }
}
