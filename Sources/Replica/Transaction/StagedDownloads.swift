import GRDB
import Foundation
import Glibc
import Linux
package import Model

/// Downloads as a change sees them: for each a sparse file of full size in `staging/downloads`, and one rename when it
/// is complete.
package struct StagedDownloads {
    let transaction: ReplicaTransaction
    private var rows: Rows { transaction.rows }
    private var backing: BackingDirectory { transaction.backing }
    private var changes: BackingChanges { transaction.changes }

    /// A row of `transfers`.
    struct Transfer {
        var file: String
        var identity: BackingIdentity
        var content: Data
        var have: Data
    }

    /// Begins to download the container's bytes of a file, or continues it.
    /// - Throws: `invalid` when there is nothing to download or the chunks are not known; `diskFull`.
    ///
    /// It counts as requested from here on: it is continued after a restart.
    /// - Parameter cause: Who causes it, in words; `nil` when that is noted already, or is another device's change.
    package func begin(of number: InodeNumber, because cause: String? = nil) throws -> StagingFile {
        try setRequested(true, of: number, because: cause ?? "another device's change")
        let row = try rows.file(number)
        let contents = try rows.contents(of: number)
        guard let packed = contents.incoming ?? (row.isLocal ? nil : contents.content) else {
            throw FileError(.invalid, row.isLocal ? "\(number) is local" : "the chunks of \(number) are not known yet")
        }
        let content = try Content(packed: packed)
        if let transfer = try rows.transfer(of: number), transfer.content == packed,
            let resumed = try resume(transfer, content)
        {
            return resumed
        }
        try discard(of: number)
        return try startTransfer(of: number, content, packed)
    }

    private func startTransfer(of number: InodeNumber, _ content: Content, _ packed: Data) throws -> StagingFile {
        let (place, descriptor) = try stagingFile(of: number)
        try descriptor.truncate(to: content.byteCount, as: "ftruncate \(place.name)")
        let identity = try SystemCalls.status(of: descriptor).identity
        let have = ChunkSet(count: content.pieces.count)
        try rows.execute(
            "INSERT INTO transfers(inode, file, backing, born, content, have) VALUES(?, ?, ?, ?, ?, ?)",
            [number.row, place.name, Int64(bitPattern: identity.inode), identity.born, packed, have.data])
        return StagingFile(descriptor: descriptor, content: content, have: have)
    }

    private func stagingFile(of number: InodeNumber) throws -> (BackingPlace, Descriptor) {
        if let (place, descriptor) = backing.spare.take() {
            try changes.takeFile(at: place)
            return (place, descriptor)
        }
        let place = BackingPlace(
            directory: backing.downloads, name: "\(number.rawValue)-\(backing.makeNumber())")
        return (place, try changes.createFile(at: place, mode: 0o600))
    }

    /// - Returns: `nil` when the file has changed: then the download starts over.
    private func resume(_ transfer: Transfer, _ content: Content) throws -> StagingFile? {
        let place = BackingPlace(directory: backing.downloads, name: transfer.file)
        guard let status = try SystemCalls.statusIfPresent(place), status.identity.matches(transfer.identity),
            status.size == content.byteCount,
            let have = ChunkSet(data: transfer.have, count: content.pieces.count)
        else { return nil }
        return StagingFile(descriptor: try SystemCalls.open(place, O_RDWR), content: content, have: have)
    }

    /// Longer causes are cut: a program's name is at most 15 bytes.
    private static let causeLimit = 200

    /// - Parameter cause: Who requests it, in words; `nil` when that is not known.
    package func setRequested(
        _ requested: Bool, of number: InodeNumber, because cause: String? = nil
    ) throws {
        if !requested {
            try rows.execute("DELETE FROM causes WHERE inode = ? AND arrived IS NULL", [number.row])
        } else if let cause {
            // The cause of an earlier request stays until that has ended.
            try rows.execute(
                """
                INSERT INTO causes(inode, cause, requested) VALUES(?1, ?2, ?3) ON CONFLICT(inode)
                DO UPDATE SET cause = ?2, requested = ?3, arrived = NULL WHERE arrived IS NOT NULL
                """, [number.row, String(cause.prefix(Self.causeLimit)), transaction.now.rawValue])
        }
        try rows.execute("UPDATE entries SET download_requested = ? WHERE inode = ?", [requested, number.row])
    }

    /// Notes which chunks are in the staging file, for a download that is continued after a restart.
    /// - Throws: `superseded` when the download has ended otherwise.
    package func saveProgress(of number: InodeNumber, have: ChunkSet) throws {
        try rows.execute("UPDATE transfers SET have = ? WHERE inode = ?", [have.data, number.row])
        guard rows.database.changesCount == 1 else {
            throw FileError(.superseded, "no download of \(number) is under way")
        }
    }

    /// Ends a download, which frees disk space.
    package func discard(of number: InodeNumber) throws {
        guard let transfer = try rows.transfer(of: number) else { return }
        try rows.execute("DELETE FROM transfers WHERE inode = ?", [number.row])
        changes.remove(.init(place: BackingPlace(directory: backing.downloads, name: transfer.file)))
    }

    /// Moves a complete and verified staging file to its place.
    /// - Returns: The file's inode: a new one if older bytes were local, which then exist until ``ReplicaTransaction/forget(_:)`` for
    ///   processes that have them open.
    /// - Throws: `superseded` when the file has changed since the download began.
    package func finish(of number: InodeNumber) throws -> InodeNumber {
        let row = try transaction.noticeBytes(of: try rows.file(number))
        let contents = try rows.contents(of: number)
        guard let transfer = try rows.transfer(of: number),
            transfer.content == (contents.incoming ?? (row.isLocal ? nil : contents.content)), !row.isModified
        else { throw FileError(.superseded, "\(number) has changed since its download began") }
        let staged = BackingPlace(directory: backing.downloads, name: transfer.file)
        guard let status = try SystemCalls.statusIfPresent(staged), status.identity.matches(transfer.identity) else {
            throw FileError(.superseded, "the staging file of \(number) is missing")
        }
        try rows.execute("DELETE FROM transfers WHERE inode = ?", [number.row])
        let new =
            row.isLocal
            ? try replaceBytes(row, with: staged, transfer.content, status.size)
            : try placeBytes(row, from: staged, status.size)
        // The bytes have another inode if older ones were local.
        try rows.execute(
            "UPDATE OR REPLACE causes SET inode = ?, arrived = ? WHERE inode = ?",
            [new.row, transaction.now.rawValue, number.row])
        return new
    }

    /// The file was not local: its bytes replace the placeholder.
    private func placeBytes(_ row: InodeRow, from staged: BackingPlace, _ size: Int64) throws -> InodeNumber {
        let number = row.number
        try dress(staged, mode: row.attributes.mode, modified: row.attributes.modified)
        try place(staged, as: try rows.entryRows(of: number), of: number)
        let status = try SystemCalls.status(try backing.objectPlace(of: number, rows))
        try rows.setBacking(number, status)
        try rows.execute(
            """
            UPDATE inodes SET local = 1, size = ?, blocks = ?, settled = 0, used = max(used, ?),
            content = coalesce(incoming, content), incoming = NULL WHERE id = ?
            """, [size, status.blocks, transaction.now.rawValue, number.row])
        try rows.execute("UPDATE entries SET download_requested = 0, error = NULL WHERE inode = ?", [number.row])
        try transaction.objects.refreshPlaceholders(of: number)
        return number
    }

    /// Older bytes are local: the names get a new inode with the new bytes, and processes that have the old one open
    /// keep it.
    private func replaceBytes(
        _ row: InodeRow, with staged: BackingPlace, _ content: Data, _ size: Int64
    ) throws -> InodeNumber {
        let entries = try rows.entryRows(of: row.number)
        guard let first = entries.first else { throw FileError(.superseded, "\(row.number) no longer has a name") }
        let orphan = backing.orphanPlace(of: row.number)
        try transaction.objects.moveBytes(of: entries, to: orphan)
        try rows.setBackingChanged(row.number, try SystemCalls.status(orphan))

        // The time is that of the record; the name may have another item's by now.
        try dress(staged, mode: row.attributes.mode, modified: row.attributes.modified)
        try place(staged, as: entries, of: row.number)
        let status = try SystemCalls.status(try backing.objectPlace(of: first, rows))
        var new = row
        new.stand(on: status)
        new.attributes.changed = transaction.now
        new.attributes.size = size
        new.attributes.blocks = status.blocks
        new.isSettled = false
        let number = try rows.insert(new, content: content)
        try rows.execute(
            "INSERT INTO xattrs(inode, name, value) SELECT ?, name, value FROM xattrs WHERE inode = ?",
            [number.row, row.number.row])
        try rows.execute(
            "UPDATE entries SET inode = ?, download_requested = 0, error = NULL WHERE inode = ?",
            [number.row, row.number.row])
        try rows.execute(
            """
            UPDATE inodes SET links = 0, incoming = NULL, modified = coalesce(local_modified, modified), changed = ?
            WHERE id = ?
            """, [transaction.now.rawValue, row.number.row])
        return number
    }

    /// Gives a staging file the mode and time of the item.
    private func dress(_ staged: BackingPlace, mode: UInt16, modified: Timestamp) throws {
        try SystemCalls.setMode(staged, BackingObjects.mode(mode))
        try SystemCalls.setTimes(staged, accessed: nil, modified: modified)
    }

    /// Moves a file to the first of the names and links it to the others; to the removed ones when there is no name.
    private func place(_ staged: BackingPlace, as entries: [EntryRow], of number: InodeNumber) throws {
        let (first, others) = try transaction.objects.newPlaces(of: number, entries)
        try changes.rename(staged, to: first)
        for place in others { try changes.link(first, as: place) }
    }
}
