import Foundation
import Glibc

/// A file that is being written under a name of its own, to get its real name when it is whole.
struct TemporaryFile {
    /// How old the leftover of a dead writer gets: a day, far more than any object takes to be written.
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
    /// - Throws: The number `EEXIST` when the name is taken and not to be replaced.
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
            // FAT and some FUSE file systems answer so to every link(2): a fact about the file system, not a permission.
            guard error.number == EPERM else { throw error }
            throw SystemCallFailure(call: "link", number: EOPNOTSUPP)
        }
    }

    /// Takes the working name away; after a rename there is none. What cannot be removed is stale some day.
    func remove() { unlinkat(directory.descriptor, name, 0) }

    /// Removes what writers that died have left. "Now" is what the file system says, so that neither clock nor zone matter.
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
