import GRDB
import Foundation
import Glibc
package import Linux
package import Model

/// Changes of local bytes by the mount.
extension ReplicaTransaction {
    /// Notes that the bytes are about to change. Called and committed before the first write since the last upload:
    /// after a crash, any written bytes on the disk are known to be a local change.
    /// - Returns: The new generation.
    @discardableResult
    package func markModified(_ number: InodeNumber) throws -> Int64 {
        let generation = try rows.first(
            "UPDATE inodes SET dirty = 1, generation = generation + 1 WHERE id = ? AND local = 1 RETURNING generation",
            [number.row]
        ) { $0[0] as Int64 }
        guard let generation else {
            _ = try rows.file(number)
            throw FileError(.superseded, "\(number) was evicted")
        }
        if try rows.contents(of: number).incoming != nil { try keepUnseen(number) }
        try enqueueItems(of: number)
        return generation
    }

    /// Records size and times of the bytes in the index.
    /// - Returns: The recorded attributes.
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
            try rows.execute("UPDATE inodes SET generation = generation + 1 WHERE id = ?", [number.row])
        } else {
            // Bytes that changed without notice are a local change too.
            try markModified(number)
        }
    }

    /// Records what was written to a local file without notice, through a mapping that the kernel passed to the backing
    /// file. Called before a change that would hide it: of the file's times, or of what its names lead to.
    ///
    /// - Returns: The file as it is now.
    func noticeBytes(of row: InodeRow) throws -> InodeRow {
        guard let status = try rows.unrecordedStatus(of: row, backing) else { return row }
        try recordBytes(of: row.number, status)
        return try rows.inodeRow(row.number)
    }

    /// Truncates a file that is not local to zero, without fetching a byte of it; a running download ends.
    /// - Throws: `invalid` when it is local.
    package func replaceWithEmpty(_ number: InodeNumber) throws -> Descriptor {
        let row = try rows.file(number)
        guard !row.isLocal else { throw FileError(.invalid, "\(number) is local") }
        try discardTransfer(of: number)
        let entries = try rows.entryRows(of: number)
        let places = try entries.map { entry in
            BackingPlace(
                directory: try backing.directory(entry.parent, rows, making: changes),
                name: PlaceholderName.backingName(of: entry.name))
        }
        let first = places.first ?? backing.orphanPlace(of: number)
        let descriptor = try changes.createFile(at: first, mode: Self.backingMode(row.attributes.mode))
        try environment.stamp(descriptor)
        for place in places.dropFirst() { try changes.link(first, as: place) }
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
        try refreshPlaceholders(of: number)
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
