import Foundation
import GRDB
import Glibc
import Linux
import Model

extension Repair {
    /// How many inodes are read at a time.
    private static let batch = 1000

    /// Moves the bytes of every file to their place in the index.
    mutating func placeFiles() throws {
        var last: Int64 = 0
        while true {
            let batch = try rows.all(
                """
                SELECT \(Rows.inodeColumns) FROM inodes i WHERE i.id > ? AND i.kind = 0 AND i.local = 1
                ORDER BY i.id LIMIT ?
                """, [last, Self.batch]
            ) { try Rows.inode($0) }
            for row in batch { try placeFile(row) }
            guard let end = batch.last, batch.count == Self.batch else { return }
            last = end.number.row
        }
    }

    private mutating func placeFile(_ row: InodeRow) throws {
        guard let identity = row.identity, let found = tree.file(identity) else {
            if try keepBytesBefore(row) { return }
            return try loseBytes(row)
        }
        let entries = try rows.entryRows(of: row.number)
        tree.found[identity.inode]?.isClaimed = true
        if before == .powerFailure, !row.isModified, !row.isSettled, try isInContainer(row, entries) {
            return try distrust(row, entries, found)
        }
        let expected = try expectedPlaces(of: row.number)
        let wasInPlace = Set(found.places) == Set(expected)
        if !wasInPlace { try gather(found, at: expected) }
        try compare(row, found.status, wasInPlace: wasInPlace)
    }

    /// Moves or links a file with several names so that it is at all `expected` places, and nowhere else.
    private mutating func gather(_ found: RepairTree.Found, at expected: [RepairTree.EntryKey]) throws {
        let inode = found.status.identity.inode
        for place in expected where !(tree.found[inode]?.places.contains(place) ?? false) {
            let places = tree.found[inode]?.places ?? []
            if let spare = places.first(where: { !expected.contains($0) }) {
                report.lines.append("\(path(spare)): moved to \(path(place))")
                try tree.moveFile(inode, from: spare, to: place)
            } else if let other = places.first {
                report.lines.append("\(path(other)): linked to \(path(place))")
                try tree.linkFile(inode, from: other, to: place)
            }
            report.movedCount += 1
        }
        for place in tree.found[inode]?.places ?? [] where !expected.contains(place) {
            try tree.unlinkFile(inode, place)
        }
    }

    /// Finds changes that the index has not recorded.
    private mutating func compare(_ row: InodeRow, _ status: BackingStatus, wasInPlace: Bool) throws {
        let sameBytes = status.size == row.attributes.size && status.modified == row.backingModified
        // Moving a file changes its ctime.
        let isEdited = !sameBytes || (wasInPlace && status.changed != row.backingChanged)
        let place = try backingPlace(of: row.number)
        if isEdited, !row.isModified, try holdsKnownBytes(row, place, status) {
            // The process ended during a change of mode or time, which the index does not have.
            let file = try HeldObject(place)
            if try SystemCalls.status(of: file.descriptor).identity.matches(status.identity) {
                try file.setTimes(accessed: nil, modified: row.backingModified)
            }
            return try rows.setBackingTimes(row.number, try SystemCalls.status(of: file.descriptor))
        }
        let now = try SystemCalls.status(place)
        if isEdited {
            var attributes = row.attributes
            attributes.size = now.size
            attributes.blocks = now.blocks
            if now.modified != row.backingModified { attributes.modified = now.modified }
            attributes.changed = changeTime(row, now, sameBytes: sameBytes)
            try transaction.update(attributes)
            _ = try transaction.markModified(row.number)
            // A file that was being written when the process ended is expected to differ.
            if !row.isModified {
                report.editedCount += 1
                report.lines.append("\(try indexPath(row.number)): changed outside the mount; will be uploaded")
            }
        }
        if isEdited || now.changed != row.backingChanged { try rows.setBackingTimes(row.number, now) }
    }

    /// The ctime of a file that is not as the index has it.
    private func changeTime(_ row: InodeRow, _ status: BackingStatus, sameBytes: Bool) -> Timestamp {
        // Of a change outside the mount it is not known when it was made.
        guard row.isModified else { return transaction.now }
        // A write changes both times at once. Where the bytes are the same, it was one of our own calls that changed the
        // backing file's.
        return sameBytes ? row.attributes.changed : max(status.modified, row.attributes.changed)
    }

    /// Whether a file's bytes are exactly those that the container has for it.
    private func holdsKnownBytes(_ row: InodeRow, _ place: BackingPlace, _ status: BackingStatus) throws -> Bool {
        guard let isChunk = transaction.environment.isChunk, status.size == row.attributes.size,
            let packed = try rows.contents(of: row.number).content
        else { return false }
        let content = try Content(packed: packed)
        guard content.byteCount == status.size else { return false }
        let descriptor = try SystemCalls.open(place, O_RDONLY)
        var buffer = [UInt8](repeating: 0, count: Content.chunkByteCount)
        return content.pieces.allSatisfy { piece in
            let count = pread(descriptor.rawValue, &buffer, piece.byteCount, off_t(piece.fileOffset))
            return count == piece.byteCount && isChunk(Array(buffer[..<count]), piece)
        }
    }

    private mutating func backingPlace(of number: InodeNumber) throws -> BackingPlace {
        guard let entry = try rows.firstEntryRow(of: number) else { return backing.orphanPlace(of: number) }
        return try tree.backingPlace(
            .init(node: try node(of: entry.parent), name: PlaceholderName.backingName(of: entry.name)))
    }

    private func isInContainer(_ row: InodeRow, _ entries: [EntryRow]) throws -> Bool {
        try entries.contains { $0.item != nil } && rows.contents(of: row.number).content != nil
    }

    /// Discards downloaded bytes that may not have reached the disk before a power failure: they are downloaded again.
    private mutating func distrust(_ row: InodeRow, _ entries: [EntryRow], _ found: RepairTree.Found) throws {
        for place in found.places { try tree.unlinkFile(found.status.identity.inode, place) }
        try makePlaceholder(row)
        report.evictedCount += 1
        report.lines.append(
            "\(try indexPath(row.number)): possibly incomplete after a power failure; will be downloaded")
    }

    private func makePlaceholder(_ row: InodeRow) throws {
        let contents = try rows.contents(of: row.number)
        guard let content = contents.incoming ?? contents.content else { throw PackedReader.damaged }
        try transaction.becomePlaceholder(row, content: content, modified: row.attributes.modified)
    }

    // MARK: Missing bytes

    /// After a power failure: a file that replaced another without having been synced may never have reached the disk,
    /// while the other one is still there. Then those are the newest bytes.
    private mutating func keepBytesBefore(_ row: InodeRow) throws -> Bool {
        guard before == .powerFailure, row.isModified else { return false }
        let expected = try expectedPlaces(of: row.number)
        for place in expected {
            guard let status = try SystemCalls.statusIfPresent(try tree.backingPlace(place)),
                let found = tree.file(status.identity), !found.isClaimed, removed.contains(status.identity)
            else { continue }
            tree.found[status.identity.inode]?.isClaimed = true
            try gather(found, at: expected)
            try stand(row, on: try SystemCalls.status(try backingPlace(of: row.number)))
            report.lines.append(
                "\(try indexPath(row.number)): its newest bytes had not been synced; keeping the previous ones")
            return true
        }
        return false
    }

    /// Assigns a file that was changed here the bytes that are now in its place.
    private func stand(_ row: InodeRow, on status: BackingStatus) throws {
        try rows.setBacking(row.number, status)
        var attributes = row.attributes
        attributes.size = status.size
        attributes.blocks = status.blocks
        attributes.modified = status.modified
        attributes.changed = transaction.now
        try transaction.update(attributes)
        _ = try transaction.markModified(row.number)
    }

    /// Creates an empty file again that never reached the disk: it has no bytes that could be lost.
    private mutating func makeEmptyFile(_ row: InodeRow) throws -> Bool {
        let expected = try expectedPlaces(of: row.number)
        guard before == .powerFailure, row.isModified, row.attributes.size == 0, let first = expected.first else {
            return false
        }
        let inode = try tree.makeFile(first, mode: BackingObjects.mode(row.attributes.mode))
        for place in expected.dropFirst() { try tree.linkFile(inode, from: first, to: place) }
        try transaction.environment.stamp(try SystemCalls.open(try tree.backingPlace(first), O_RDWR))
        try stand(row, on: try SystemCalls.status(try tree.backingPlace(first)))
        return true
    }

    private mutating func expectedPlaces(of number: InodeNumber) throws -> [RepairTree.EntryKey] {
        var expected: [RepairTree.EntryKey] = []
        // One that lost its names, and that programs go on with: see `ReplicaEnvironment.isResumed`.
        if try rows.inodeRow(number).attributes.linkCount == 0 {
            return [.init(node: RepairTree.removed, name: backing.orphanPlace(of: number).name)]
        }
        for entry in try rows.entryRows(of: number) {
            expected.append(.init(node: try node(of: entry.parent), name: PlaceholderName.backingName(of: entry.name)))
        }
        return expected
    }

    private mutating func loseBytes(_ row: InodeRow) throws {
        let path = try indexPath(row.number)
        let contents = try rows.contents(of: row.number)
        if !row.isModified, contents.content != nil {
            try makePlaceholder(row)
            report.evictedCount += 1
            report.lines.append("\(path): its bytes are missing from this disk; will be downloaded")
            return
        }
        if try makeEmptyFile(row) { return }
        report.lostCount += 1
        let entries = try rows.entries(of: row.number)
        for entry in entries where entry.base == nil {
            // Never uploaded and missing: the name has no bytes anywhere.
            if let item = entry.item { try rows.outbox.dequeue(item) }
            try rows.deleteEntry(entry.name, in: entry.parent)
            try rows.addLinks(row.number, -1, changed: transaction.now)
            report.lines.append("\(path): its bytes are lost, and were never uploaded; the name was removed")
        }
        guard let entry = entries.first(where: { $0.base != nil }), let base = entry.base else {
            return try rows.deleteInode(row.number)
        }
        try fallBack(row, to: base)
        report.lines.append("\(path): its local changes are lost; the container's bytes will be downloaded")
    }

    private func fallBack(_ row: InodeRow, to base: ItemRecord) throws {
        // Without the record's own chunk list the engine fetches it by the record's manifest.
        var known: Data?
        if case .inline(let content)? = base.content { known = content.packed }
        try rows.execute(
            """
            UPDATE inodes SET local = 0, dirty = 0, size = ?, blocks = ?, modified = ?, changed = ?, content = ?,
            incoming = NULL, settled = 0 WHERE id = ?
            """,
            [
                base.size, InodeRow.placeholderBlocks(size: base.size), base.modified.rawValue,
                transaction.now.rawValue, known, row.number.row,
            ])
        try rows.setBacking(row.number, nil)
    }

    func indexPath(_ number: InodeNumber) throws -> String {
        var names: [String] = []
        var current = number
        while current != .root, names.count < Rows.depthLimit, let entry = try rows.firstEntryRow(of: current) {
            names.append(entry.name.string)
            current = entry.parent
        }
        return names.reversed().joined(separator: "/")
    }

    // MARK: Downloads

    /// Keeps unfinished downloads, and finds those that were complete when the process ended.
    mutating func placeTransfers() throws {
        let numbers = try rows.all("SELECT inode FROM transfers", []) { InodeNumber(row: $0[0]) }
        for number in numbers {
            guard let transfer = try rows.transfer(of: number) else { continue }
            try placeTransfer(number, transfer)
        }
    }

    private mutating func placeTransfer(_ number: InodeNumber, _ transfer: StagedDownloads.Transfer) throws {
        guard let found = tree.file(transfer.identity) else {
            return try rows.execute("DELETE FROM transfers WHERE inode = ?", [number.row])
        }
        let inode = found.status.identity.inode
        if before == .powerFailure {
            // It is unknown which of its bytes have reached the disk.
            try rows.execute("DELETE FROM transfers WHERE inode = ?", [number.row])
            try rows.noteRemoved(transfer.identity)
            for place in found.places { try tree.unlinkFile(inode, place) }
            tree.found[inode]?.isClaimed = true
            return
        }
        tree.found[inode]?.isClaimed = true
        let staged = RepairTree.EntryKey(node: RepairTree.downloads, name: transfer.file)
        if found.places.contains(staged), found.places.count == 1 { return }
        // It was already moved to its place among the files, and so was complete.
        try gather(found, at: [staged])
        let have = ChunkSet.full(count: try Content(packed: transfer.content).pieces.count)
        try rows.execute("UPDATE transfers SET have = ? WHERE inode = ?", [have.data, number.row])
        completed.append(number)
    }
}
