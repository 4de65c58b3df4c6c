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

    /// - Parameters:
    ///   - state: The path of one that no daemon uses.
    ///   - directory: An empty directory on its file system, or one in which what was returned before an interruption lies.
    package init(of state: String, to directory: String) {
        self.state = ReplicaDirectory(state)
        self.directory = directory
    }

    /// Blocks.
    ///
    /// - Throws: `notFound` without a state; `busy` while a daemon uses it; `invalid` when it was not closed in order; `notLocal`
    ///   when files are not local; `notEmpty` when the directory has other things in it.
    package func run() throws(FileError) -> ReturnedTree {
        let noted = try TreeTaking(of: state.path)
        // The index is the first of the state that goes.
        guard noted != nil || access(state.index, F_OK) == 0 else {
            throw FileError(.notFound, "there is no state in \(state.path)")
        }
        let lock = try StateLock(state)
        defer { lock.release() }
        if let noted { try check(noted) }
        let target = try SystemCalls.openDirectory(resolved: directory)
        var report = ReturnedTree()
        var returning: TreeTaking
        if let noted { returning = noted } else { returning = try begin(lock, target) }
        if returning.phase == .restoring {
            let files = try BackingDirectory.openDirectory(state.files)
            report = try restore(files)
            try SystemCalls.syncFileSystem(of: files)
            try returning.begin(.returning, in: state.path)
        }
        // It is missing where the state was being removed already.
        if access(state.files, F_OK) == 0 {
            try TreeMove(from: BackingDirectory.openDirectory(state.files), to: target).run()
        }
        try restoreAccess(of: target, returning)
        try SystemCalls.syncFileSystem(of: target)
        report.nameCount = try SystemCalls.names(in: target).count
        try removeState()
        // A power failure would bring the note back.
        try SystemCalls.syncFileSystem(of: target)
        return report
    }

    /// Of the directory itself, which may be another user's: then it stays as it is.
    private func restoreAccess(of target: Descriptor, _ returning: TreeTaking) throws(FileError) {
        let status = try SystemCalls.status(of: target)
        do throws(FileError) {
            let now = status.mode & 0o7777
            let mode = target.accessList?.mode(for: returning.mode & 0o7777, now: now) ?? returning.mode & 0o7777
            if now != mode { try target.setMode(mode) }
            if status.modified != returning.modified { try target.setTimes(modified: returning.modified) }
        } catch {
            guard error.code == .notPermitted || error.code == .denied else { throw error }
        }
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

    private func restore(_ files: Descriptor) throws(FileError) -> ReturnedTree {
        let workshop = try BackingDirectory.openDirectory(state.path)
        return try read { rows in
            var restoration = try TreeRestoration(rows, making: workshop, device: files.status().device)
            try restoration.restoreContents(of: .root, in: files, at: ItemPath(""))
            return restoration.report
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
