import Glibc
import Model
import Synchronization
import Linux

/// The hidden directories that this library makes beside items, and what programs that ended have left of them.
///
/// A process holds a lock on each of its directories. The kernel releases it when the process ends, however it ends; so
/// a directory without a lock belongs to nobody.
enum ScratchPlaces {
    /// What their names begin with: see ``ItemPath/localName(_:)`` and ``DocumentStaging``.
    private static let prefixes = [".replacement.nosync-", ".ubiquity.nosync."].map { Array($0.utf8) }
    /// How many directories one call removes.
    private static let limit = 16
    /// How long a directory must not have changed: its process takes the lock after it has made it.
    private static let leastAge: Int = 60

    /// The locked directories of this process.
    private static let locks = Mutex<[Descriptor]>([])

    /// Locks a directory that was just made until it is removed or the process ends, and removes others beside it that
    /// belong to nobody.
    static func adopt(_ path: String) {
        // Without a descriptor, or a lock, the directory is at worst removed later than it would have been.
        if let directory = try? Descriptor(path, O_RDONLY | O_DIRECTORY) {
            _ = try? directory.lock()
            locks.withLock { locks in
                locks.removeAll(where: isRemoved)
                locks.append(directory)
            }
        }
        sweep(ItemPath.directory(of: path), now: time(nil))
    }

    /// Removes the directories in a directory that belong to nobody.
    static func sweep(_ directory: String, now: Int) {
        guard let names = try? SystemCalls.names(in: directory) else { return }
        let left = names.filter { name in prefixes.contains { name.utf8.starts(with: $0) } }
        for name in left.prefix(limit) { remove("\(directory)/\(name)", now: now) }
    }

    private static func remove(_ path: String, now: Int) {
        guard let directory = try? Descriptor(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW),
            let status = try? directory.status(), status.owner == geteuid(),
            Int(status.changed.seconds) + leastAge <= now, (try? directory.lock()) == true
        else { return }
        // What cannot be removed now is removed by the next one.
        withExtendedLifetime(directory) { try? ItemMove.remove(path) }
    }

    private static func isRemoved(_ directory: Descriptor) -> Bool {
        (try? directory.status())?.linkCount ?? 0 == 0
    }
}
