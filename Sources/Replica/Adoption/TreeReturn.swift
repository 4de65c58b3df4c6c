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
        let target = try SystemCalls.openDirectory(resolved: directory)
        var report = ReturnedTree()
        var returning: TreeTaking
        if let noted { returning = try continued(noted, target) } else { returning = try begin(lock, target) }
        if returning.phase == .restoring {
            let files = try BackingDirectory.openDirectory(state.files)
            report = try restore(files, target)
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

    private func continued(_ noted: TreeTaking, _ target: Descriptor) throws(FileError) -> TreeTaking {
        var noted = noted
        let isOther = !noted.directory.isBytewiseEqual(to: directory)
        if isOther, try !canRedirect(noted) {
            throw FileError(.invalid, "the state \(state.path) is that of \(noted.directory)")
        }
        guard noted.phase.isReturn else {
            throw FileError(
                .invalid, "\(directory) is not taken over completely; finish that first: dewpoint take \(directory) URL"
            )
        }
        // It is missing where the state was being removed already.
        if access(state.files, F_OK) == 0 { try checkPlace(of: target) }
        if isOther { try noted.redirect(to: directory, in: state.path) }
        return noted
    }

    /// Whether another directory than the noted one may get what is in the state: while nothing was moved to that, or where it is
    /// gone, or was renamed.
    private func canRedirect(_ noted: TreeTaking) throws(FileError) -> Bool {
        guard noted.phase == .returning else { return noted.phase == .restoring }
        let target: Descriptor
        do throws(FileError) { target = try SystemCalls.openDirectory(resolved: noted.directory) } catch {
            guard error.code == .notFound || error.code == .notDirectory else { throw error }
            return true
        }
        return try !isReachable(target)
    }

    private func isReachable(_ target: Descriptor) throws(FileError) -> Bool {
        try MountIdentity(of: BackingDirectory.openDirectory(state.files)).reaches(MountIdentity(of: target))
    }

    /// Nothing is copied.
    private func checkPlace(of target: Descriptor) throws(FileError) {
        if try isReachable(target) { return }
        throw FileError(.crossDevice, Self.distance(of: directory, from: state.path))
    }

    /// That a directory cannot be given back, and what can be done.
    package static func distance(of directory: String, from state: String) -> String {
        "\(directory) is not on the file system of the state \(state), or on another mount of it, so that everything would have to be "
            + "copied; have it given back to an empty directory beside the state, which can be copied then: dewpoint take --undo "
            + "DIRECTORY --state \(state)"
    }

    /// Checks that everything is there, and notes the return.
    private func begin(_ lock: StateLock, _ target: Descriptor) throws(FileError) -> TreeTaking {
        guard lock.before() == .orderly else {
            throw FileError(
                .invalid,
                "the daemon of \(state.path) did not shut down cleanly; mount it once more, and run this again")
        }
        try checkPlace(of: target)
        let isEmpty = try SystemCalls.names(in: target).isEmpty
        let returning = try read { rows in
            guard isEmpty else {
                throw try rows.hasItems
                    ? FileError(.notEmpty, "\(directory) is not empty; move away what is in it, and run this again")
                    : FileError(
                        .invalid,
                        "the state \(state.path) has no items: nothing of \(directory) was taken over, and nothing is to undo"
                    )
            }
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

    private func restore(_ files: Descriptor, _ target: Descriptor) throws(FileError) -> ReturnedTree {
        let workshop = try BackingDirectory.openDirectory(state.path)
        return try read { rows in
            var restoration = try TreeRestoration(rows, making: workshop, device: files.status().device)
            try restoration.restoreContents(of: .root, in: files, at: ItemPath(""))
            try restoration.restoreRoot(target)
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
        // The note last, by which an interrupted removal is found and finished.
        let directory = try BackingDirectory.openDirectory(state.path)
        for inner in try SystemCalls.names(in: directory) where !inner.isBytewiseEqual(to: TreeTaking.name) {
            let place = BackingPlace(directory: directory, name: inner)
            if try SystemCalls.status(place).isDirectory {
                try TreeRemoval.remove(inner, in: directory, owner: geteuid())
            } else {
                try SystemCalls.unlink(place)
            }
        }
        try TreeRemoval.remove(String(name), in: BackingDirectory.openDirectory("\(state.path)/.."), owner: geteuid())
    }
}
