package import Coordination
package import Model
import Sync

/// The file system's options of a mount, with their defaults. Names, ranges and meanings of those that users set are in
/// the Daemon's table of mount options.
package struct FileSystemOptions: Sendable, Hashable {
    /// What turns, claims and presenters may do.
    package var locks = LockTable.Limits()
    /// How long an operation keeps retrying while the store does not answer.
    package var networkTimeout: Duration = .seconds(20)

    /// Programs that may not download by reading; this includes their child processes.
    ///
    /// `PROGRAM`, as in `/proc/PID/comm` (a longer name is cut to its 15 bytes), or `PROGRAM/ARGUMENT` for a program
    /// started with an argument that is `ARGUMENT` or ends in `/ARGUMENT`, or `PROGRAM#THREAD` for one thread of it, by
    /// its name in `/proc/PID/task/TID/comm`; see ``ProgramNames`` about threads of a pool.
    package var nonDownloadingPrograms: [String] = []

    /// Fast paths that are turned off.
    package var off: Set<FastPath> = []

    /// How many files and bytes a process group may download by reading within a minute before its reads are held;
    /// `nil` for any number.
    package var stormFileLimit: Int?
    package var stormByteLimit: Int64?

    /// How long a file of another device may be, in bytes, to be downloaded by itself; `nil`: none is.
    package var smallFileLimit: Int64?

    /// The rules of directories by their paths.
    package var directoryRules: [PathRules] = []

    /// Limits on downloaded bytes.
    package var cacheLimits = CacheLimits()

    /// Patterns of new items that stay on this machine, after the usual ones; see ``IgnorePatterns``.
    package var ignoredPatterns: [String] = []

    /// How long a file may be written without a pause before a copy of it is uploaded, and how often from then on.
    package var busyUploadInterval = SyncContext.busyUploadInterval

    /// How long this device promises not to go without a commit, in whole seconds; `nil` for no promise.
    package var heartbeat: Duration?

    /// Whether a new device shows the root of the container's tree before it has the whole tree. What needs more of the
    /// tree then fails with ``FileError/Code/treeIncomplete``: see ``FileSystem/inTree(_:)``.
    package var previewsTree = false

    /// Whether the mount refuses changes (`ro`).
    package var isReadOnly = false

    /// Why the store refuses every write of this device, in a sentence; `nil` when it does not.
    package var storeRefusal: String?

    /// Whether the container is encrypted, for the status.
    package var isEncrypted = false

    package init() {}
}
