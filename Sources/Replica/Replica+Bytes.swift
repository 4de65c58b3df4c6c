import GRDB
package import Linux
package import Model

/// The bytes of files, where that takes more than one read or one change.
extension Replica {
    /// Creates an empty file. Related: `open(2)` with `O_CREAT | O_EXCL`.
    /// - Parameters:
    ///   - opening: Called before the file is visible, so that other callers find it already open.
    ///   - request: Whose it is, where it may come again.
    /// - Returns: The file, and its bytes open for reading and writing.
    /// - Throws: `exists`, `notFound`, `notDirectory`, `diskFull`.
    package func createFile(
        _ new: NewItem, as name: ItemName, in parent: InodeNumber, opening: FileOpening? = nil,
        request: RequestNumber? = nil
    ) throws(FileError) -> (Attributes, Descriptor) {
        let (attributes, bytes) = try change { transaction in
            let made = try transaction.createFile(new, as: name, in: parent, opening: opening)
            try transaction.note(request, made: made.attributes.inode)
            return made
        }
        return (attributes, descriptors.shared(bytes, of: attributes.inode))
    }

    /// Creates a file without a name, which is deleted with its last use unless it gets one
    /// (``ReplicaTransaction/link(_:in:as:isNameless:)``). Related: open(2) with `O_TMPFILE`.
    /// - Parameters:
    ///   - parent: Whose group it may inherit.
    ///   - request: Whose it is, where it may come again.
    /// - Throws: `notFound`, `notDirectory`, `diskFull`.
    package func createNamelessFile(
        _ new: NewItem, in parent: InodeNumber, opening: FileOpening, request: RequestNumber? = nil
    ) throws(FileError) -> Attributes {
        let (attributes, bytes) = try change { transaction in
            let made = try transaction.createNamelessFile(new, in: parent, opening: opening)
            try transaction.note(request, made: made.attributes.inode)
            return made
        }
        _ = descriptors.shared(bytes, of: attributes.inode)
        return attributes
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

    /// Records what was written to a local file without notice; otherwise it costs no change of the index.
    package func noticeBytes(of number: InodeNumber) throws(FileError) {
        let isUnrecorded = try read { try $0.unrecordedStatus(of: try $0.inodeRow(number), backing) != nil }
        guard isUnrecorded else { return }
        try change { _ = try $0.noticeBytes(of: try $0.rows.file(number)) }
    }

    /// Creates the file of the next download in advance, so that its first byte is not delayed.
    package func prepareDownload() throws(FileError) {
        try checkAlive()
        try backing.spare.prepare(number: backing.makeNumber())
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
                try $0.objects.writePlaceholders(in: directory, after: name, limit: Self.placeholderBatch)
            }
        } while name != nil
    }
}
