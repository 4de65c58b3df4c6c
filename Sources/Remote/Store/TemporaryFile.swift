import Foundation
import Glibc

/// A file that is written under a temporary name, and renamed when it is complete.
struct TemporaryFile {
    /// The age at which a dead writer's file is removed: a day, far more than any write takes.
    static let staleAgeSeconds = 24 * 60 * 60

    let file: OpenFile
    private let directory: OpenFile
    private let name: String

    init(in directory: OpenFile) throws(SystemCallFailure) {
        self.directory = directory
        name = UUID().uuidString.lowercased()
        file = try OpenFile(name, in: directory, flags: O_WRONLY | O_CREAT | O_EXCL, mode: 0o666)
    }

    /// Gives the file its real name. Related: `renameat(2)`, `linkat(2)`.
    ///
    /// - Throws: `EEXIST` when the name is taken and must not be replaced.
    func move(to place: StoreRoot.ResolvedPath, replacing: Bool) throws(SystemCallFailure) {
        guard !replacing else {
            _ = try SystemCallFailure.check("rename") {
                renameat(directory.descriptor, name, place.directory.descriptor, place.name)
            }
            return
        }
        do throws(SystemCallFailure) {
            _ = try SystemCallFailure.check("link") {
                linkat(directory.descriptor, name, place.directory.descriptor, place.name, 0)
            }
        } catch {
            // FAT and some FUSE file systems return this for every link(2): a property of the file system, not a
            // permission.
            guard error.number == EPERM else { throw error }
            throw SystemCallFailure(call: "link", number: EOPNOTSUPP)
        }
    }

    /// Removes the temporary name; after a rename there is none. If that fails, it is removed later as stale.
    func remove() { unlinkat(directory.descriptor, name, 0) }

    /// Removes the files of dead writers. "Now" is the file system's time, so that clock and time zone do not matter.
    static func removeStale(in directory: OpenFile) throws(SystemCallFailure) {
        let probe = try TemporaryFile(in: directory)
        defer { probe.remove() }
        let now = try probe.file.status().st_mtim.tv_sec
        try DirectoryListing.forEachEntry(in: directory) { name, _ in
            var status = stat()
            guard fstatat(directory.descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0,
                status.st_mode & S_IFMT == S_IFREG, now - status.st_mtim.tv_sec > staleAgeSeconds
            else { return }
            unlinkat(directory.descriptor, name, 0)
        }
    }
}
