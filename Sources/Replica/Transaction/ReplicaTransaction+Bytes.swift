import GRDB
import Foundation
import Glibc
package import Linux
package import Model

/// Changes of local bytes by the mount, and what the container has of them.
extension ReplicaTransaction {
    /// Notes that the bytes are about to change. Called and committed before the first write since the last upload:
    /// after a crash, any written bytes on the disk are known to be a local change.
    /// - Returns: The new generation.
    /// - Throws: `superseded` when the bytes are not local any more; `notFound`; `isDirectory` or `invalid` for what
    ///   has no bytes.
    @discardableResult
    package func markModified(_ number: InodeNumber) throws -> Int64 {
        let generation = try rows.executeReturning(Self.setModified, number.row) { $0[0] as Int64 }
        guard let generation else {
            _ = try rows.file(number)
            throw FileError(.superseded, "\(number) was evicted")
        }
        if try rows.contents(of: number).incoming != nil { try history.keepUnseen(number) }
        try outbox.enqueueItems(of: number)
        return generation
    }

    private static let setModified = IndexStatement(
        "UPDATE inodes SET dirty = 1, generation = generation + 1 WHERE id = ? AND local = 1 RETURNING generation")

    /// Records size and times of the bytes in the index.
    /// - Returns: The recorded attributes.
    /// - Throws: `notFound` when the file was deleted.
    @discardableResult
    package func recordBytes(of number: InodeNumber, from descriptor: Descriptor) throws -> BackingStatus {
        // Read inside the change: a status that was read earlier could be outdated.
        let status = try BackingStatus(of: descriptor)
        try recordBytes(of: number, status)
        return status
    }

    /// The same for a file that was closed and may be mapped.
    /// - Throws: `notFound` when it was removed; `superseded` when these are no longer its bytes.
    package func recordMappedBytes(of number: InodeNumber, from descriptor: Descriptor) throws -> BackingStatus {
        let status = try BackingStatus(of: descriptor)
        let row = try rows.file(number)
        guard row.isLocal, let identity = row.identity, status.identity.matches(identity) else {
            throw FileError(.superseded, "\(number) has other bytes")
        }
        try recordBytes(of: number, status)
        return status
    }

    /// Records size and times from the disk after the bytes changed.
    private func recordBytes(of number: InodeNumber, _ status: BackingStatus) throws {
        let row = try rows.file(number)
        var attributes = row.attributes
        let isSame =
            status.size == attributes.size && status.modified == row.backingModified
            && status.blocks == attributes.blocks
        if isSame && status.changed == row.backingChanged { return }
        try rows.setBackingTimes(number, status)
        if isSame { return }
        let bytesChanged = status.size != attributes.size || status.modified != row.backingModified
        // Blocks alone change when the disk allocates them later.
        attributes.size = status.size
        attributes.blocks = status.blocks
        if bytesChanged {
            if status.modified != row.backingModified { attributes.modified = status.modified }
            // A write changes both times at once.
            attributes.changed = max(status.modified, row.attributes.changed)
        }
        try update(attributes)
        guard bytesChanged else { return }
        if row.isModified {
            // A reader of the previous bytes must not mistake them for these.
            try rows.execute(Self.addGeneration, number.row)
        } else {
            // Bytes that changed without notice are a local change too.
            try markModified(number)
        }
    }

    private static let addGeneration = IndexStatement(
        "UPDATE inodes SET generation = generation + 1 WHERE id = ?")

    /// Records what was written to a local file without notice, through a mapping that the kernel passed to the backing
    /// file. Called before a change that would hide it: of the file's times, or of what its names lead to.
    ///
    /// - Returns: The file as it is now.
    func noticeBytes(of row: InodeRow) throws -> InodeRow {
        guard let status = try rows.unrecordedStatus(of: row, backing) else { return row }
        try recordBytes(of: row.number, status)
        return try rows.inodeRow(row.number)
    }

    /// Notes that the container has the bytes that an inode had at `generation`.
    ///
    /// If they have changed since, they stay modified, and the item stays in the outbox.
    package func markUploaded(_ number: InodeNumber, generation: Int64, content: Content) throws {
        try rows.execute(
            """
            UPDATE inodes SET content = ?1, incoming = CASE WHEN generation = ?2 THEN NULL ELSE incoming END,
            settled = CASE WHEN generation = ?2 THEN 0 ELSE settled END,
            dirty = CASE WHEN generation = ?2 THEN 0 ELSE dirty END WHERE id = ?3
            """, [content.packed, generation, number.row])
    }

    /// Notes the chunks of content that is not local, when only the manifest was known.
    /// - Throws: `superseded` when the file is local, or its chunks are known already.
    package func setKnownContent(_ number: InodeNumber, content: Content) throws {
        let row = try rows.file(number)
        guard !row.isLocal, try rows.contents(of: number).content == nil else {
            throw FileError(.superseded, "the chunks of \(number) are known already")
        }
        try becomePlaceholder(row, content: content.packed, modified: row.attributes.modified)
    }

    package func rememberChunks(
        _ chunks: [(hash: ChunkHash, stored: Content.Piece.Stored, byteCount: Int)]
    ) throws {
        for chunk in chunks {
            try rows.execute(
                "INSERT OR REPLACE INTO chunks(hash, pack, offset, bytes) VALUES(?, ?, ?, ?)",
                [Data(chunk.hash.bytes), chunk.stored.pack.uuid, chunk.stored.offset, chunk.byteCount])
        }
    }

    /// Notes why the bytes of a file cannot be transferred; `nil` when they can again.
    package func setError(_ fault: ItemFault?, of number: InodeNumber) throws {
        let text = try fault.map { String(decoding: try JSONEncoder().encode($0), as: UTF8.self) }
        try rows.execute("UPDATE entries SET error = ? WHERE inode = ?", [text, number.row])
    }

    /// Truncates a file that is not local to zero, without fetching a byte of it; a running download ends.
    /// - Throws: `invalid` when it is local.
    package func replaceWithEmpty(_ number: InodeNumber) throws -> Descriptor {
        let row = try rows.file(number)
        guard !row.isLocal else { throw FileError(.invalid, "\(number) is local") }
        try downloads.discard(of: number)
        let (first, others) = try objects.newPlaces(of: number, try rows.entryRows(of: number))
        let descriptor = try changes.createFile(at: first, mode: BackingObjects.mode(row.attributes.mode))
        try environment.stamp(descriptor)
        for place in others { try changes.link(first, as: place) }
        try rows.execute("UPDATE inodes SET local = 1, incoming = NULL WHERE id = ?", [number.row])
        let status = try SystemCalls.status(of: descriptor)
        try rows.setBacking(number, status)
        try markModified(number)
        var attributes = row.attributes
        attributes.size = 0
        attributes.blocks = status.blocks
        attributes.modified = status.modified
        attributes.changed = max(status.modified, row.attributes.changed)
        try update(attributes)
        try rows.execute("UPDATE entries SET download_requested = 0, error = NULL WHERE inode = ?", [number.row])
        try objects.refreshPlaceholders(of: number)
        return descriptor
    }
}

extension Rows {
    /// The status of a local file whose bytes are not those that the index has recorded; otherwise `nil`.
    func unrecordedStatus(of row: InodeRow, _ backing: BackingDirectory) throws -> BackingStatus? {
        guard row.kind == .file, row.isLocal, let identity = row.identity,
            let status = try SystemCalls.statusIfPresent(try backing.objectPlace(of: row.number, self)),
            status.identity.matches(identity),
            status.size != row.attributes.size || status.modified != row.backingModified
        else { return nil }
        return status
    }

    /// - Throws: `notLocal` when the bytes are not local.
    func openBytes(of number: InodeNumber, _ backing: BackingDirectory) throws -> Descriptor {
        let row = try file(number)
        guard row.isLocal, let identity = row.identity else { throw FileError(.notLocal, "\(number) is not local") }
        let place = try backing.objectPlace(of: number, self)
        let descriptor = try Self.open(place)
        guard try SystemCalls.status(of: descriptor).identity.matches(identity) else {
            throw FileError(.inputOutput, "\(place.name) in the backing directory is not the file we created")
        }
        return descriptor
    }

    /// Opens for reading and writing: readers and writers share the descriptor. On a disk that became read-only, local
    /// files can still be read, and every change is refused before it comes to a write.
    private static func open(_ place: BackingPlace) throws(FileError) -> Descriptor {
        do throws(FileError) {
            return try SystemCalls.open(place, O_RDWR)
        } catch {
            guard error.code == .readOnly else { throw error }
            return try SystemCalls.open(place, O_RDONLY)
        }
    }
}
