import Foundation
import Glibc

/// A file that is being written under a name of its own, to get its real name when it is whole.
struct TemporaryFile {
    /// How old the leftover of a dead writer gets: a day, far more than any object takes to be written.
    static let staleAgeSeconds = 24 * 60 * 60

    let file: OpenFile
    private let path: String

    init(in directory: String) throws(SystemCallFailure) {
        path = "\(directory)/\(UUID().uuidString.lowercased())"
        file = try OpenFile(path: path, flags: O_WRONLY | O_CREAT | O_EXCL, mode: 0o666)
    }

    /// Gives the file its real name. Related: `rename(2)`, `link(2)`.
    ///
    /// - Throws: The number `EEXIST` when the name is taken and not to be replaced.
    func move(to destination: String, replacing: Bool) throws(SystemCallFailure) {
        guard !replacing else {
            _ = try SystemCallFailure.check("rename") { rename(path, destination) }
            return
        }
        do throws(SystemCallFailure) {
            _ = try SystemCallFailure.check("link") { link(path, destination) }
        } catch {
            // FAT and some FUSE file systems answer so to every link(2): a fact about the file system, not a permission.
            guard error.number == EPERM else { throw error }
            throw SystemCallFailure(call: "link", number: EOPNOTSUPP)
        }
    }

    /// Takes the working name away; after a rename there is none. What cannot be removed is stale some day.
    func remove() { unlink(path) }

    /// Removes what writers that died have left. "Now" is what the file system says, so that neither clock nor zone matter.
    static func removeStale(in directory: String) throws(SystemCallFailure) {
        let probe = try TemporaryFile(in: directory)
        defer { probe.remove() }
        let now = try probe.file.status().st_mtim.tv_sec
        try DirectoryListing.forEachEntry(in: directory) { name, _ in
            var status = stat()
            let path = "\(directory)/\(name)"
            guard lstat(path, &status) == 0, now - status.st_mtim.tv_sec > staleAgeSeconds else { return }
            unlink(path)
        }
    }
}
