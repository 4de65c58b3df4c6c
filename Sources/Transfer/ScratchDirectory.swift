import Foundation
import Glibc
import Model
import Replica
import Sync
import Linux

/// The private directory of a ``ScratchReplica``, below a parent that others may use too.
///
/// A signal that ends the run removes it first. A directory that a killed run left behind is removed by the next run of the same user. Other users' directories, and
/// links, are left alone: `/var/tmp` is shared.
struct ScratchDirectory {
    let path: String
    private let parent: Descriptor
    private let name: String
    private let cleanup: SignalCleanup

    private static let prefix = "dewpoint-visit-"

    /// Creates the directory.
    ///
    /// - Parameters:
    ///   - parent: The parent directory.
    ///   - number: A number that no other run has.
    init(in parent: String, number: UUID) throws(FileError) {
        let directory = try Descriptor(parent, O_RDONLY | O_DIRECTORY, as: "open")
        let name = "\(Self.prefix)\(getpid())-\(number.uuidString.lowercased())"
        path = "\(parent)/\(name)"
        Self.removeStale(in: directory, parent)
        try SystemCalls.check("mkdir") { mkdirat(directory.rawValue, name, 0o700) }
        self.parent = directory
        self.name = name
        // Its index has the names of an encrypted container, too.
        cleanup = SignalCleanup { try? TreeRemoval.remove(name, in: directory, owner: geteuid()) }
    }

    func remove() {
        defer { cleanup.end() }
        // If it cannot be removed, the next run does it.
        try? TreeRemoval.remove(name, in: parent, owner: geteuid())
    }

    /// Removes the directories of this user's runs whose processes are gone.
    private static func removeStale(in parent: Descriptor, _ path: String) {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] where name.hasPrefix(prefix) {
            guard let process = pid_t(name.dropFirst(prefix.count).prefix { $0 != "-" }), process > 0,
                kill(process, 0) == -1, errno == ESRCH, !isInUse(name, in: parent)
            else { continue }
            // Other users' directories stay; their owners remove them.
            try? TreeRemoval.remove(name, in: parent, owner: geteuid())
        }
    }

    /// Whether its lock is held: the process may be in another pid namespace and not visible from here.
    private static func isInUse(_ name: String, in parent: Descriptor) -> Bool {
        let place = Place(directory: parent, name: name)
        // A directory that cannot be opened is not removed either.
        guard let directory = try? SystemCalls.open(place, O_RDONLY | O_DIRECTORY) else { return true }
        let lock = try? SystemCalls.open(Place(directory: directory, name: "lock"), O_RDONLY | O_NONBLOCK)
        guard let lock else { return false }
        return (try? lock.lock()) != true
    }
}
