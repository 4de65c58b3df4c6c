import CLinux
import Foundation
import GRDB
import Glibc
import Linux
package import Model

/// Makes what a state has in `files/` a plain directory again: `dewpoint take --undo`.
///
/// Everything must be local. Names, modes, times and attributes on the disk become those of the items, and everything is moved
/// into the directory. It may be interrupted at any point, and is continued by the next run; until it ends, the state cannot be
/// mounted. Nothing is copied.
package struct TreeReturn {
    private let state: ReplicaDirectory
    private let directory: String
    private let isRoot = geteuid() == 0

    /// - Parameters:
    ///   - state: The path of one that no daemon uses.
    ///   - directory: An empty directory on its file system, or one in which what was returned before an interruption lies.
    package init(of state: String, to directory: String) {
        self.state = ReplicaDirectory(state)
        self.directory = directory
    }

    /// Blocks.
    ///
    /// - Returns: How many names were given back.
    /// - Throws: `notFound` without a state; `busy` while a daemon uses it; `invalid` when it was not closed in order; `notLocal`
    ///   when files are not local; `notEmpty` when the directory has other things in it.
    package func run() throws(FileError) -> Int {
        let noted = try TreeTaking(of: state.path)
        // The index is the first of the state that goes.
        guard noted != nil || access(state.index, F_OK) == 0 else {
            throw FileError(.notFound, "there is no state in \(state.path)")
        }
        let lock = try StateLock(state)
        defer { lock.release() }
        if let noted { try check(noted) }
        let target = try BackingDirectory.openDirectory(directory)
        var returning: TreeTaking
        if let noted { returning = noted } else { returning = try begin(lock, target) }
        if returning.phase == .restoring {
            let files = try BackingDirectory.openDirectory(state.files)
            try restore(files)
            try SystemCalls.syncFileSystem(of: files)
            try returning.begin(.returning, in: state.path)
        }
        // It is missing where the state was being removed already.
        if access(state.files, F_OK) == 0 {
            try TreeMove(from: BackingDirectory.openDirectory(state.files), to: target).run()
        }
        try target.setMode(returning.mode)
        try target.setTimes(modified: returning.modified)
        try SystemCalls.syncFileSystem(of: target)
        let count = try SystemCalls.names(in: target).count
        try removeState()
        // A power failure would bring the note back.
        try SystemCalls.syncFileSystem(of: target)
        return count
    }

    private func check(_ noted: TreeTaking) throws(FileError) {
        guard noted.directory.isBytewiseEqual(to: directory) else {
            throw FileError(.invalid, "the state \(state.path) is that of \(noted.directory)")
        }
        guard noted.phase.isReturn else {
            throw FileError(
                .invalid, "\(directory) is not taken over completely; finish that first: dewpoint take \(directory) URL"
            )
        }
    }

    /// Checks that everything is there, and notes the return.
    private func begin(_ lock: StateLock, _ target: Descriptor) throws(FileError) -> TreeTaking {
        guard lock.before() == .orderly else {
            throw FileError(
                .invalid,
                "the daemon of \(state.path) did not shut down cleanly; mount it once more, and run this again")
        }
        guard try SystemCalls.names(in: target).isEmpty else {
            throw FileError(.notEmpty, "\(directory) is not empty; move away what is in it")
        }
        let returning = try read { rows in
            let missing = try rows.count("SELECT count(*) FROM inodes WHERE kind = 0 AND local = 0 AND links > 0")
            guard missing == 0 else {
                throw FileError(
                    .notLocal,
                    "\(missing == 1 ? "1 file is" : "\(missing) files are") not local; mount it, and run this again")
            }
            return TreeTaking(returning: directory, as: try rows.inodeRow(.root).attributes)
        }
        try returning.note(in: state.path)
        return returning
    }

    private func read<Value>(_ body: (Rows) throws -> Value) throws(FileError) -> Value {
        try translated {
            let (index, _) = try Replica.openIndex(state, redoing: nil)
            let value = try index.read { try body(Rows(database: $0)) }
            try index.close()
            return value
        }
    }

    // MARK: Restoring

    private func restore(_ files: Descriptor) throws(FileError) {
        try read { try restoreContents(of: .root, in: files, $0) }
    }

    /// What is in a directory first: by its own name it is reached until then.
    private func restoreContents(of number: InodeNumber, in handle: Descriptor, _ rows: Rows) throws {
        for entry in try rows.entryRows(in: number) {
            let row = try rows.inodeRow(entry.inode)
            let backing = BackingPlace(directory: handle, name: PlaceholderName.backingName(of: entry.name))
            let place = BackingPlace(directory: handle, name: entry.name.string)
            // It has its own name where an earlier run has come so far.
            let current = try SystemCalls.statusIfPresent(backing) == nil ? place : backing
            try restore(row, at: current, rows)
            if current.name.isBytewiseEqual(to: place.name) { continue }
            try SystemCalls.rename(current, to: place)
        }
    }

    private func restore(_ row: InodeRow, at place: BackingPlace, _ rows: Rows) throws {
        let isThere = try SystemCalls.statusIfPresent(place) != nil
        switch row.kind {
        case .directory:
            if !isThere { try SystemCalls.makeDirectory(place) }
            // An earlier run may have given it a mode with which it cannot be entered.
            if row.attributes.mode & 0o700 != 0o700 { try SystemCalls.setMode(place, 0o700) }
            let directory = try SystemCalls.open(place, O_RDONLY | O_DIRECTORY)
            try restoreContents(of: row.number, in: directory, rows)
            try restoreAttributes(of: directory, row, rows)
            try restoreAccess(place, row)
        case .file:
            if row.attributes.mode & 0o600 != 0o600 { try SystemCalls.setMode(place, 0o600) }
            try restoreAttributes(of: try SystemCalls.open(place, O_RDONLY | O_NONBLOCK), row, rows)
            try restoreAccess(place, row)
        case .symbolicLink:
            if !isThere { try SystemCalls.makeSymbolicLink(place, to: row.target?.string ?? "") }
            try restoreOwner(place, row)
            try SystemCalls.setTimes(place, accessed: row.attributes.accessed, modified: row.attributes.modified)
        case .fifo, .socket, .characterDevice, .blockDevice:
            if !isThere { try makeNode(row, at: place) }
            try restoreAccess(place, row)
        }
    }

    private func restoreAttributes(of object: Descriptor, _ row: InodeRow, _ rows: Rows) throws {
        let wanted = try rows.xattrs(of: row.number)
        for name in object.userAttributeNames where wanted[AttributeName(name)] == nil {
            try object.removeExtendedAttribute(name)
        }
        for (name, value) in wanted where object.extendedAttribute(name.string).map({ Data($0) }) != value {
            try object.setExtendedAttribute(name.string, to: Array(value))
        }
    }

    /// The owner before the mode, which loses bits with another owner, and the times last.
    private func restoreAccess(_ place: BackingPlace, _ row: InodeRow) throws {
        try restoreOwner(place, row)
        try SystemCalls.setMode(place, row.attributes.mode & 0o7777)
        try SystemCalls.setTimes(place, accessed: row.attributes.accessed, modified: row.attributes.modified)
    }

    private func restoreOwner(_ place: BackingPlace, _ row: InodeRow) throws {
        let (owner, group) = (row.attributes.owner, row.attributes.group)
        let object = try SystemCalls.entry(place)
        guard object.owner != owner || object.group != group else { return }
        // An ordinary user has only files of his own, and may give them to groups that he is in.
        guard isRoot || object.owner == owner else { return }
        try SystemCalls.check("chown", place.name) {
            fchownat(place.directory.rawValue, place.name, owner, group, AT_SYMLINK_NOFOLLOW)
        }
    }

    private func makeNode(_ row: InodeRow, at place: BackingPlace) throws(FileError) {
        let type: mode_t =
            switch row.kind {
            case .fifo: S_IFIFO
            case .socket: S_IFSOCK
            case .characterDevice: S_IFCHR
            default: S_IFBLK
            }
        try SystemCalls.check("mknod", place.name) {
            mknodat(place.directory.rawValue, place.name, type | 0o600, dev_t(row.attributes.device))
        }
    }

    // MARK: The state

    /// Unless repair has put something aside in it, which nobody has looked at.
    private func removeState() throws(FileError) {
        // First what would make the rest a state.
        for path in [state.index, state.log, state.redo] { unlink(path) }
        if access(state.recovered, F_OK) == 0 { return try TreeTaking.end(in: state.path) }
        guard let name = ItemPath(state.path).last else { return }
        try TreeRemoval.remove(String(name), in: BackingDirectory.openDirectory("\(state.path)/.."), owner: geteuid())
    }
}
