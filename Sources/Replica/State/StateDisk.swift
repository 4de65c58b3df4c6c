import Foundation
import Glibc
import Model

/// What the replica needs of the file system that its state is on, and some do not have.
enum StateDisk {
    /// Sees that names can be moved without replacing others, and that the disk says how much room it has.
    ///
    /// - Throws: `invalid` with a sentence that names the file system and what it lacks.
    static func check(_ state: StateDirectory) throws(FileError) {
        var room = statvfs()
        guard statvfs(state.path, &room) == 0 else {
            throw lack(state, "does not say how much room it has (statfs: \(String(cString: strerror(errno))))")
        }
        // Without a limit of its own a file system says 0, and every download would be one too many.
        guard room.f_blocks > 0 else { throw lack(state, "does not say how much room it has (statfs)") }
        let directory = try BackingDirectory.openDirectory(state.path)
        let (one, other) = (
            BackingPlace(directory: directory, name: "probe-1"), BackingPlace(directory: directory, name: "probe-2")
        )
        // Of a check that was cut off.
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
                throw lack(state, "cannot move a name without replacing another (RENAME_NOREPLACE, RENAME_EXCHANGE)")
            // A full disk was looked at when it was not full; here it must do.
            case .diskFull, .overQuota: return
            default: throw error
            }
        }
    }

    private static func lack(_ state: StateDirectory, _ what: String) -> FileError {
        let type = fileSystemType(of: state.path).map { " (\($0))" } ?? ""
        return FileError(
            .invalid, "the file system of the state \(state.path)\(type) \(what); keep it on ext4, xfs or btrfs")
    }

    /// Such as `ext4`; `nil` where the table of mounts does not list the device.
    private static func fileSystemType(of path: String) -> String? {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        return MountTable.current().type(ofDevice: status.st_dev)
    }
}
