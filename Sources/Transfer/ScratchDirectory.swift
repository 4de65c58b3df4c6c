import Foundation
import Glibc
import Model
import Replica
import Sync

/// A directory of its own for a ``ScratchReplica``, below one that others may use too.
///
/// What a visit that was killed left there is removed by the next visit of the same user. Other users' directories, and links, are left
/// alone: `/var/tmp` is everybody's.
struct ScratchDirectory {
    let path: String
    private let parent: Descriptor
    private let name: String

    private static let prefix = "dewpoint-visit-"

    /// Makes the directory.
    ///
    /// - Parameters:
    ///   - parent: Where it goes.
    ///   - number: What no other visit has.
    init(in parent: String, number: UUID) throws(FileError) {
        let raw = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard raw >= 0 else { throw FileError(systemCall: errno, "open") }
        self.parent = Descriptor(owning: raw)
        name = "\(Self.prefix)\(getpid())-\(number.uuidString.lowercased())"
        path = "\(parent)/\(name)"
        Self.removeStale(in: self.parent, parent)
        guard mkdirat(raw, name, 0o700) == 0 else { throw FileError(systemCall: errno, "mkdir") }
    }

    func remove() {
        // What cannot be removed goes with the next visit.
        try? TreeRemoval.remove(name, in: parent, owner: geteuid())
    }

    /// Removes the directories of this user's visits whose processes are gone.
    private static func removeStale(in parent: Descriptor, _ path: String) {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] where name.hasPrefix(prefix) {
            guard let process = pid_t(name.dropFirst(prefix.count).prefix { $0 != "-" }), process > 0,
                kill(process, 0) == -1, errno == ESRCH, !isInUse(name, in: parent)
            else { continue }
            // What belongs to others stays; it is theirs to remove.
            try? TreeRemoval.remove(name, in: parent, owner: geteuid())
        }
    }

    /// Whether somebody holds its lock: a process that is not seen from here, in another pid namespace.
    private static func isInUse(_ name: String, in parent: Descriptor) -> Bool {
        let raw = openat(parent.rawValue, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        // Neither is what cannot be opened removed.
        guard raw >= 0 else { return true }
        let directory = Descriptor(owning: raw)
        let lock = openat(directory.rawValue, "lock", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard lock >= 0 else { return false }
        defer { Glibc.close(lock) }
        return flock(lock, LOCK_EX | LOCK_NB) != 0
    }
}
