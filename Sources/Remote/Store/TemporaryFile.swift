import Foundation
import Glibc
import Linux
import Model

/// A file that is written under a temporary name, and renamed when it is complete.
struct TemporaryFile {
    /// The age at which a dead writer's file is removed: a day, far more than any write takes.
    static let staleAgeSeconds = 24 * 60 * 60

    let file: Descriptor
    private let temporary: Place

    init(in directory: Descriptor) throws(FileError) {
        temporary = Place(directory: directory, name: UUID().uuidString.lowercased())
        file = try SystemCalls.open(temporary, O_WRONLY | O_CREAT | O_EXCL, mode: 0o666)
    }

    /// Gives the file its real name. Related: `renameat(2)`, `linkat(2)`.
    ///
    /// - Throws: `EEXIST` when the name is taken and must not be replaced.
    func move(to place: StoreRoot.ResolvedPath, replacing: Bool) throws(FileError) {
        if replacing { return try SystemCalls.replace(place.place, with: temporary) }
        do throws(FileError) { try SystemCalls.link(temporary, as: place.place) } catch {
            // FAT and some FUSE file systems return this for every link(2): a property of the file system, not a
            // permission.
            guard error.code == .notPermitted else { throw error }
            throw FileError(FailedCall("link", EOPNOTSUPP))
        }
    }

    /// Removes the temporary name; after a rename there is none. If that fails, it is removed later as stale.
    func remove() { try? SystemCalls.unlink(temporary) }

    /// Removes the files of dead writers. "Now" is the file system's time, so that clock and time zone do not matter.
    static func removeStale(in directory: Descriptor) throws(FileError) {
        let probe = try TemporaryFile(in: directory)
        defer { probe.remove() }
        let now = try probe.file.status().modified.seconds
        try DirectoryListing.forEachEntry(in: directory) { name, _ in
            let place = Place(directory: directory, name: name)
            guard let status = try? SystemCalls.entry(place), status.kind == S_IFREG,
                now - status.modified.seconds > staleAgeSeconds
            else { return }
            // The next writer tries again.
            try? SystemCalls.unlink(place)
        }
    }
}
