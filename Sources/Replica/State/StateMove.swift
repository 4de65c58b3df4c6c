import Foundation
import GRDB
import Glibc
import Linux
package import Model

/// Moves a state directory to another disk.
///
/// The index knows files by their inode numbers on the disk, so a plain copy is not a valid state: mounting it is
/// refused, since two states of one device would each take the other's changes for their own. A move copies everything,
/// notes the new numbers in a copy of the index, and makes the old state unusable before the new one is usable. If it
/// is interrupted at any point, one of the two can be mounted, or the same move can be continued.
///
///     OLD/moved                    the path of the new state; from now on the old one is refused
///     NEW/index.sqlite.moving      the index until then
package struct StateMove {
    private let old: ReplicaDirectory
    private let new: ReplicaDirectory

    package init(from old: String, to new: String) {
        self.old = ReplicaDirectory(old)
        self.new = ReplicaDirectory(new)
    }

    /// Files that are created again, or only describe a daemon.
    private static let leftOut: Set<String> = [
        "index.sqlite", "index.sqlite-wal", "index.sqlite-shm", "lock", "running", "redo", "reserve", "ending",
        movedName, diskName,
    ]
    /// A directory that ext4 has in the root of each disk.
    private static let diskName = "lost+found"
    static let movedName = "moved"

    private var movingIndex: String { "\(new.index).moving" }

    /// Blocks until the copy is complete.
    ///
    /// - Throws: `busy` when a daemon uses the state; `invalid` when it was not closed in order; `notEmpty` when the
    ///   destination is not empty.
    package func run() throws(FileError) {
        if let place = Self.destination(of: old) {
            guard place == new.path else { throw Self.moved(old, to: place) }
            return try finish()
        }
        guard access(old.index, F_OK) == 0 else { throw FileError(.notFound, "there is no state in \(old.path)") }
        let lock = try StateLock(old)
        defer { lock.release() }
        // Within one disk nothing else changes.
        do throws(FileError) {
            try SystemCalls.check("rename", "\(old.path) -> \(new.path)") { rename(old.path, new.path) }
            return
        } catch {
            // Busy: one of the two is a mount point.
            guard [.crossDevice, .busy, .notEmpty, .exists].contains(error.code) else { throw error }
        }
        guard lock.before() == .orderly else {
            throw FileError(
                .invalid,
                "the daemon of \(old.path) did not shut down cleanly; mount it once more, unmount it, and move it then")
        }
        try makeEmpty(new.path)
        var copy = StateCopy()
        let (source, target) = (
            try BackingDirectory.openDirectory(old.path), try BackingDirectory.openDirectory(new.path)
        )
        try copy.copyTree(source, to: target, except: Self.leftOut)
        try copyIndex(copy.numbers)
        try SystemCalls.syncFileSystem(of: target)
        try markAsMoved()
        try finish()
    }

    /// The destination of a state that was moved; `nil` when it was not.
    static func destination(of state: ReplicaDirectory) -> String? {
        // An unreadable mark counts as none: it has no other content.
        try? String(contentsOfFile: "\(state.path)/\(movedName)", encoding: .utf8)
    }

    static func moved(_ state: ReplicaDirectory, to place: String) -> FileError {
        FileError(.invalid, "the state \(state.path) was moved to \(place); mount with that one")
    }

    private func makeEmpty(_ path: String) throws(FileError) {
        try SystemCalls.makeDirectory(ifMissing: path)
        let names = try SystemCalls.names(in: BackingDirectory.openDirectory(path))
        guard names.allSatisfy({ $0 == Self.diskName }) else {
            throw FileError(
                .notEmpty,
                "\(path) is not empty; give a new directory, or remove the remains of an interrupted move")
        }
    }

    /// Copies the index, and notes the files' new numbers in the copy.
    private func copyIndex(_ numbers: [UInt64: UInt64]) throws(FileError) {
        try translated {
            let source = try DatabaseQueue(path: old.index)
            try source.writeWithoutTransaction { try $0.execute(sql: "VACUUM INTO ?", arguments: [movingIndex]) }
            try source.close()
            var found: [UInt64: BackingStatus] = [:]
            for path in [new.files, new.downloads, new.removed, new.aside] where access(path, F_OK) == 0 {
                try Self.collect(try BackingDirectory.openDirectory(path), into: &found)
            }
            let index = try DatabaseQueue(path: movingIndex)
            try index.write { try renumber(Rows(database: $0)) { numbers[$0].flatMap { found[$0] } } }
            try index.close()
            try SystemCalls.setMode(of: movingIndex, 0o600)
        }
    }

    private func renumber(_ rows: Rows, _ status: (UInt64) -> BackingStatus?) throws {
        let inodes = try rows.all("SELECT id, backing FROM inodes WHERE backing IS NOT NULL", []) {
            (id: $0[0] as Int64, backing: UInt64(bitPattern: $0[1] as Int64))
        }
        for (id, backing) in inodes { try rows.setBacking(InodeNumber(row: id), status(backing)) }
        let transfers = try rows.all("SELECT inode, backing FROM transfers", []) {
            (id: $0[0] as Int64, backing: UInt64(bitPattern: $0[1] as Int64))
        }
        for (id, backing) in transfers {
            guard let status = status(backing) else { continue }
            try rows.execute(
                "UPDATE transfers SET backing = ?, born = ? WHERE inode = ?",
                [Int64(bitPattern: status.identity.inode), status.identity.born, id])
        }
        let files = try SystemCalls.status(of: try BackingDirectory.openDirectory(new.files))
        try rows.setMeta(.filesInode, Int64(bitPattern: files.identity.inode))
        try rows.setMeta(.filesBorn, files.identity.born)
        try rows.setBacking(.root, files)
    }

    /// The objects in a directory and below, by their numbers there.
    private static func collect(
        _ directory: Descriptor, into found: inout [UInt64: BackingStatus]
    ) throws(FileError) {
        for name in try SystemCalls.names(in: directory) {
            let place = BackingPlace(directory: directory, name: name)
            let status = try SystemCalls.status(place)
            found[status.identity.inode] = status
            if status.isDirectory { try collect(try SystemCalls.open(place, O_RDONLY | O_DIRECTORY), into: &found) }
        }
    }

    private func markAsMoved() throws(FileError) {
        let directory = try BackingDirectory.openDirectory(old.path)
        let mark = BackingPlace(directory: directory, name: Self.movedName)
        let file = try SystemCalls.open(mark, O_WRONLY | O_CREAT | O_TRUNC, mode: 0o600)
        try file.write(Array(new.path.utf8), at: 0, as: "write \(Self.movedName)")
        try file.synchronize(as: "fsync \(Self.movedName)")
        try directory.synchronize(as: "fsync \(old.path)")
    }

    /// From here on only the new state can be mounted.
    private func finish() throws(FileError) {
        let directory = try BackingDirectory.openDirectory(new.path)
        if access(movingIndex, F_OK) == 0 {
            try SystemCalls.check("rename", movingIndex) { rename(movingIndex, new.index) }
            try directory.synchronize(as: "fsync \(new.path)")
        }
        let parent = try BackingDirectory.openDirectory("\(old.path)/..")
        let name = String(ItemPath(old.path).last ?? "")
        do throws(FileError) { try TreeRemoval.remove(name, in: parent, owner: geteuid()) } catch {
            // A mount point: it is empty now, and not ours to unmount.
            guard error.code == .busy else { throw error }
        }
    }
}
