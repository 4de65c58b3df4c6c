import Foundation
import Glibc
import Linux
import Model

/// The requirements on the file system of the state, which some file systems do not meet.
enum StateDisk {
    /// Verifies that names can be moved without replacing others, and that the disk reports its free space.
    ///
    /// - Throws: `invalid` with a sentence that names the file system and what it lacks.
    static func check(_ state: ReplicaDirectory) throws(FileError) {
        var room = statvfs()
        guard statvfs(state.path, &room) == 0 else {
            throw lack(state, "does not report its size (statfs: \(String(cString: strerror(errno))))")
        }
        // A file system without a limit of its own says 0, which would make every download too large.
        guard room.f_blocks > 0 else { throw lack(state, "does not report its size (statfs)") }
        let directory = try BackingDirectory.openDirectory(state.path)
        let (one, other) = (
            BackingPlace(directory: directory, name: "probe-1"), BackingPlace(directory: directory, name: "probe-2")
        )
        // Left behind by an interrupted check.
        for place in [one, other] where try SystemCalls.statusIfPresent(place) != nil { try SystemCalls.unlink(place) }
        defer { for place in [one, other] { try? SystemCalls.unlink(place) } }
        do throws(FileError) {
            _ = try SystemCalls.open(one, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
            try SystemCalls.rename(one, to: other)
            _ = try SystemCalls.open(one, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
            try SystemCalls.exchange(one, other)
        } catch {
            switch error.code {
            case .invalid, .unsupported:
                throw lack(state, "does not support renaming without replacing (RENAME_NOREPLACE, RENAME_EXCHANGE)")
            // The check passed while the disk was not full yet; that has to suffice.
            case .diskFull, .overQuota: return
            default: throw error
            }
        }
    }

    private static func lack(_ state: ReplicaDirectory, _ what: String) -> FileError {
        let type = fileSystemType(of: state.path).map { " (\($0))" } ?? ""
        return FileError(
            .invalid, "the file system of the state \(state.path)\(type) \(what); keep it on ext4, xfs or btrfs")
    }

    /// For example `ext4`; `nil` if the device is not in the mount table.
    private static func fileSystemType(of path: String) -> String? {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        return MountTable.current().type(ofDevice: status.st_dev)
    }
}
