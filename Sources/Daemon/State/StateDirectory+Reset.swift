package import Foundation
import Glibc
import Logging
import Model
import Replica
import Sync

/// Starting anew: the state is kept beside its place, under another name.
///
///     mountpoint    in the state: where it was last mounted, so that it is found by that
///     BACKUP        in the state: the name under which it was set aside. While the directory has that name, it does not
///                   count as the state of its container
extension StateDirectory {
    private var mountpointFile: String { "\(path)/mountpoint" }
    private var backupMark: String { "\(path)/BACKUP" }

    /// Whether it was set aside by ``reset(discardingChanges:now:)``.
    var isBackup: Bool { (try? String(contentsOfFile: backupMark, encoding: .utf8)) == name }

    private var name: String { ItemPath(path).last.map(String.init) ?? path }

    /// Records where the state is mounted.
    func record(mountpoint: String) {
        // Without it the state is only not found by its mountpoint.
        try? mountpoint.write(toFile: mountpointFile, atomically: true, encoding: .utf8)
    }

    /// The states in their default places that were last mounted at a mountpoint, or have a part of the directory there: one that
    /// is being taken over, or given back.
    package static func lastMounted(at mountpoint: String, environment: [String: String]) -> [StateDirectory] {
        all(environment).joined().filter { place in
            let recorded = try? String(contentsOfFile: place.mountpointFile, encoding: .utf8)
            if recorded?.isBytewiseEqual(to: mountpoint) == true { return true }
            // A note that cannot be read names no directory.
            let taking = try? TreeTaking(of: place.path)
            return taking?.directory.isBytewiseEqual(to: mountpoint) == true
        }
    }

    /// Sets the state aside, so that the next mount builds a new one.
    ///
    /// - Parameter isDiscarding: Whether changes that are not uploaded may be left behind.
    /// - Returns: The new name of the state.
    /// - Throws: ``DaemonError`` with `busy` while a daemon uses it, or when it has changes that are not uploaded;
    ///   `notFound` when it is no state.
    package func reset(discardingChanges isDiscarding: Bool, now: Date = .now) throws(DaemonError) -> StateDirectory {
        let location = try location()
        let count: Int
        do throws(FileError) {
            count = try pendingCount(of: location)
        } catch {
            // A state that cannot be opened is what this is for, but not one that is in use.
            guard error.code != .busy, error.code != .wouldBlock else { throw DaemonError(error, state: path) }
            guard isDiscarding else {
                throw DaemonError(
                    .failed,
                    "the index of \(path) cannot be read, so changes that are not uploaded cannot be counted: "
                        + "\(error.detail); to leave them behind in the backup: --discard-changes")
            }
            count = 0
        }
        guard count == 0 || isDiscarding else {
            throw DaemonError(
                .busy,
                "\(count) \(count == 1 ? "change is" : "changes are") not uploaded; mount the container and run "
                    + "dewpoint sync --wait MOUNTPOINT first, or leave them behind in the backup: --discard-changes")
        }
        return try setAside(now)
    }

    private func pendingCount(of location: ContainerLocation) throws(FileError) -> Int {
        guard let identity = identity(of: location) else {
            throw FileError(.corrupt, "container.json is missing or damaged")
        }
        let context = try SyncContext(
            identity: identity,
            location: DeviceLocation(remote: location.url, state: path, mountpoint: "", deviceName: ""),
            environment: .system, logger: DaemonService.logger("reset", level: .error), owner: geteuid(),
            group: getegid())
        let count = try context.replica.read { try $0.outbox.count() }
        try context.replica.close()
        return count
    }

    private func setAside(_ now: Date) throws(DaemonError) -> StateDirectory {
        let stamp = now.formatted(.iso8601.timeSeparator(.omitted))
        let backup = StateDirectory(path: "\(path).backup-\(stamp)")
        guard !FileManager.default.fileExists(atPath: backup.path) else {
            throw DaemonError(.cannotCreate, "\(backup.path) exists already; run this again in a second")
        }
        // First, so that a crash leaves the state either as it was, or set aside.
        do {
            try backup.name.write(toFile: backupMark, atomically: true, encoding: .utf8)
        } catch {
            throw DaemonError(.failed, "\(backupMark) cannot be written: \(error.localizedDescription)")
        }
        guard rename(path, backup.path) == 0 else {
            throw DaemonError(
                .failed, "\(path) cannot be renamed to \(backup.path): \(String(cString: strerror(errno)))")
        }
        return backup
    }
}
