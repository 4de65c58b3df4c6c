import GRDB
import Foundation
import Glibc
package import Model
package import Linux

/// Changes of names by the mount: each call is one ``change(freeing:_:)``.
extension Replica {
    /// Creates an empty file. Related: `open(2)` with `O_CREAT | O_EXCL`.
    /// - Parameter opening: Called before the file is visible, so that other callers find it already open.
    /// - Returns: The file, and its bytes open for reading and writing.
    /// - Throws: `exists`, `notFound`, `notDirectory`, `diskFull`.
    package func createFile(
        _ name: ItemName, in parent: InodeNumber, mode: UInt16, owner: UInt32, group: UInt32,
        opening: FileOpening? = nil
    ) throws(FileError) -> (Attributes, Descriptor) {
        let (attributes, bytes) = try change {
            try $0.createFile(name, in: parent, mode: mode, owner: owner, group: group, opening: opening)
        }
        return (attributes, descriptors.shared(bytes, of: attributes.inode))
    }

    /// Opens a file during its creation.
    package struct FileOpening {
        let open: (InodeNumber, Descriptor) throws(FileError) -> Void
        let undo: (InodeNumber) -> Void

        /// - Parameter undo: The file was not created after all, and its number may be reused.
        package init(
            open: @escaping (InodeNumber, Descriptor) throws(FileError) -> Void, undo: @escaping (InodeNumber) -> Void
        ) {
            self.open = open
            self.undo = undo
        }
    }

    package func makeDirectory(
        _ name: ItemName, in parent: InodeNumber, mode: UInt16, owner: UInt32, group: UInt32
    ) throws(FileError) -> Attributes {
        try change { try $0.makeDirectory(name, in: parent, mode: mode, owner: owner, group: group) }
    }

    package func makeSymbolicLink(
        _ name: ItemName, in parent: InodeNumber, target: String, owner: UInt32, group: UInt32
    ) throws(FileError) -> Attributes {
        try change { try $0.makeSymbolicLink(name, in: parent, target: target, owner: owner, group: group) }
    }

    /// Creates a pipe, a socket or a device file, which are not synced. Related: `mknod(2)`.
    package func makeNode(
        _ name: ItemName, in parent: InodeNumber, kind: ItemKind, mode: UInt16, device: UInt64, owner: UInt32,
        group: UInt32
    ) throws(FileError) -> Attributes {
        guard !kind.isSynced else { throw FileError(.invalid, "\(name): a \(kind.rawValue) cannot be made by mknod") }
        return try change {
            try $0.makeNode(name, in: parent, kind: kind, mode: mode, device: device, owner: owner, group: group)
        }
    }

    /// Adds another name to a file. Related: `link(2)`.
    /// - Throws: `notPermitted` for a directory.
    package func link(
        _ number: InodeNumber, in parent: InodeNumber, as name: ItemName
    ) throws(FileError) -> Attributes {
        try change { try $0.link(number, in: parent, as: name) }
    }

    /// Removes a name; the file itself exists until ``forget(_:)``, for processes that have it open. Related:
    /// `unlink(2)`.
    /// - Throws: `isDirectory`.
    package func removeFile(_ name: ItemName, in parent: InodeNumber) throws(FileError) -> RemovedEntry {
        try change(freeing: true) { try $0.removeFile(name, in: parent) }
    }

    /// Related: `rmdir(2)`.
    /// - Throws: `notDirectory`, `notEmpty`.
    package func removeDirectory(_ name: ItemName, in parent: InodeNumber) throws(FileError) -> RemovedEntry {
        try change(freeing: true) { try $0.removeDirectory(name, in: parent) }
    }

    /// Related: `renameat2(2)`. An atomic save keeps the item of the target name.
    package func rename(
        _ name: ItemName, in parent: InodeNumber, to newName: ItemName, in newParent: InodeNumber, mode: RenameMode
    ) throws(FileError) -> Renamed {
        try change { try $0.rename(name, in: parent, to: newName, in: newParent, mode: mode) }
    }

    /// Deletes a file without names; does nothing for a file that has one.
    package func forget(_ number: InodeNumber) throws(FileError) { try change(freeing: true) { try $0.forget(number) } }

    /// Related: `chmod(2)`, `chown(2)`, `utimensat(2)`. It hides no change of the bytes.
    ///
    /// - Parameter isMapped: Whether a program may be storing into a mapping of the file meanwhile.
    package func setAttributes(
        of number: InodeNumber, _ change: AttributeChange, isMapped: Bool = false
    ) throws(FileError) -> Attributes {
        try self.change { try $0.setAttributes(of: number, change, isMapped: isMapped) }
    }

    package func setXattr(
        _ name: String, _ value: [UInt8], of number: InodeNumber, mode: XattrMode
    ) throws(FileError) {
        try change { try $0.setXattr(name, value, of: number, mode: mode) }
    }

    package func removeXattr(_ name: String, of number: InodeNumber) throws(FileError) {
        try change { try $0.removeXattr(name, of: number) }
    }

    /// Pins a file or the contents of a directory, or unpins them; `nil`: as its directory.
    package func setPinned(_ pinned: Bool?, of number: InodeNumber) throws(FileError) {
        try change { transaction in
            if number == .root { return try transaction.rows.setMeta(.rootPinned, pinned) }
            try transaction.rows.execute("UPDATE entries SET pinned = ? WHERE inode = ?", [pinned, number.row])
        }
    }
}

/// Changes of bytes by the mount.
extension Replica {
    /// Opens the bytes of a local file, for reading and writing: once, for all who have them open.
    /// - Throws: `notLocal` when they are not local.
    package func openBytes(of number: InodeNumber) throws(FileError) -> Descriptor {
        descriptors.shared(try openBytesAnew(of: number), of: number)
    }

    private func openBytesAnew(of number: InodeNumber) throws(FileError) -> Descriptor {
        do {
            return try read { try $0.openBytes(of: number, backing) }
        } catch  where error.code == .notFound || error.code == .inputOutput {
            // The file was renamed between the lookup and the call: within a change nothing moves.
            return try change { try $0.rows.openBytes(of: number, backing) }
        }
    }

    /// Flushes the bytes of an unmodified file to the disk before its first change.
    ///
    /// After a power failure an unmodified file that may not have reached the disk is downloaded again, but a modified
    /// one is the only copy: the ranges that were not written must be in it. Does nothing for a file that is already
    /// modified, or known to be on the disk.
    package func secureBytes(of number: InodeNumber, in bytes: Descriptor?) throws(FileError) {
        guard let bytes else { return }
        let isUnsure = try read {
            try $0.exists(
                "SELECT 1 FROM inodes WHERE id = ? AND local = 1 AND dirty = 0 AND settled <> 1 AND size > 0",
                [number.row])
        }
        if isUnsure { try SystemCalls.syncData(bytes) }
    }

    /// Notes that the bytes are about to change. Called and committed before the first write since the last upload:
    /// after a crash, any written bytes on the disk are known to be a local change.
    /// - Returns: The new generation.
    @discardableResult
    package func markModified(_ number: InodeNumber) throws(FileError) -> Int64 {
        try change { try $0.markModified(number) }
    }

    /// Records size and times of the bytes in the index.
    /// - Returns: The recorded attributes.
    @discardableResult
    package func recordBytes(of number: InodeNumber, from descriptor: Descriptor) throws(FileError) -> BackingStatus {
        try change {
            // Read inside the change: a status that was read earlier could be outdated.
            let status = try BackingStatus(of: descriptor)
            _ = try $0.recordBytes(of: number, status)
            return status
        }
    }

    /// The same for a file that was closed and may be mapped.
    /// - Throws: `notFound` when it was removed; `superseded` when these are no longer its bytes.
    package func recordMappedBytes(
        of number: InodeNumber, from descriptor: Descriptor
    ) throws(FileError) -> BackingStatus {
        try change {
            let status = try BackingStatus(of: descriptor)
            let row = try $0.rows.file(number)
            guard row.isLocal, let identity = row.identity, status.identity.matches(identity) else {
                throw FileError(.superseded, "\(number) has other bytes")
            }
            _ = try $0.recordBytes(of: number, status)
            return status
        }
    }

    /// Records what was written to a local file without notice; otherwise it costs no change of the index.
    package func noticeBytes(of number: InodeNumber) throws(FileError) {
        let isUnrecorded = try read { try $0.unrecordedStatus(of: try $0.inodeRow(number), backing) != nil }
        guard isUnrecorded else { return }
        try change { _ = try $0.noticeBytes(of: try $0.rows.file(number)) }
    }

    /// Truncates a file that is not local to zero, without a download; a running download ends.
    /// - Throws: `invalid` when it is local.
    package func replaceWithEmpty(_ number: InodeNumber) throws(FileError) -> Descriptor {
        try change { try $0.replaceWithEmpty(number) }
    }

    /// Begins to download the container's bytes of a file, or continues it.
    /// - Throws: `invalid` when there is nothing to download or the chunks are not known; `diskFull`.
    ///
    /// It counts as requested from here on: it is continued after a restart.
    /// - Parameter cause: Who causes it, in words; `nil` when that is noted already, or is another device's change.
    package func beginDownload(of number: InodeNumber, because cause: String? = nil) throws(FileError) -> StagingFile {
        try change {
            try $0.rows.noteCause(cause ?? "another device's change", of: number, at: $0.now)
            try $0.setDownloadRequested(true, of: number)
            return try $0.beginDownload(of: number)
        }
    }

    /// Creates the file of the next download in advance, so that its first byte is not delayed.
    package func prepareDownload() throws(FileError) {
        try checkAlive()
        try backing.spare.prepare(number: backing.makeNumber())
    }

    /// Notes which chunks are in the staging file, for a download that is continued after a restart.
    /// - Throws: `superseded` when the download has ended otherwise.
    package func saveProgress(of number: InodeNumber, have: ChunkSet) throws(FileError) {
        try change { try $0.saveProgress(of: number, have: have) }
    }

    /// Moves a complete and verified staging file to its place.
    /// - Returns: The file's inode: a new one if older bytes were local, which then exist until ``forget(_:)`` for
    ///   processes that have them open.
    /// - Throws: `superseded` when the file has changed since the download began.
    package func finishDownload(of number: InodeNumber) throws(FileError) -> InodeNumber {
        try change {
            let new = try $0.finishDownload(of: number)
            try $0.rows.noteArrival(of: number, as: new, at: $0.now)
            return new
        }
    }

    package func discardDownload(of number: InodeNumber) throws(FileError) {
        try change(freeing: true) { try $0.discardTransfer(of: number) }
    }

    /// - Parameter cause: Who requests it, in words; `nil` when that is not known.
    package func setDownloadRequested(
        _ requested: Bool, of number: InodeNumber, because cause: String? = nil
    ) throws(FileError) {
        try change {
            if let cause, requested { try $0.rows.noteCause(cause, of: number, at: $0.now) }
            if !requested { try $0.rows.forgetCause(of: number) }
            try $0.setDownloadRequested(requested, of: number)
        }
    }

    /// Notes why the bytes of a file cannot be transferred; `nil` when they can again.
    package func setError(_ fault: ItemFault?, of number: InodeNumber) throws(FileError) {
        try change {
            let text = try fault.map { String(decoding: try JSONEncoder().encode($0), as: UTF8.self) }
            try $0.rows.execute("UPDATE entries SET error = ? WHERE inode = ?", [text, number.row])
        }
    }

    /// Evicts the bytes of a file. The caller has verified that it is not open for writing and not pinned, and that the
    /// container still has it.
    /// - Throws: `busy` when it has changes that are not in the container, or has changed since `generation`.
    package func evict(_ number: InodeNumber, generation: Int64) throws(FileError) {
        try change(freeing: true) { try $0.evict(number, generation: generation) }
    }

    /// How many entries of a directory one change creates on the disk: few enough not to delay others.
    static let placeholderBatch = 32

    /// Creates the contents of a directory on the disk: placeholders, subdirectories, symbolic links. For the first
    /// visit; later changes are applied as they happen. Does nothing when it was done before.
    package func writePlaceholders(in directory: InodeNumber) throws(FileError) {
        guard try read({ try $0.inodeRow(directory).visited }) < 2 else { return }
        var name: ItemName?
        repeat {
            name = try change {
                try $0.writePlaceholders(in: directory, after: name, limit: Self.placeholderBatch)
            }
        } while name != nil
    }
}
