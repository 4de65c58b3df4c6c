import GRDB
import Foundation
package import Model

/// One change of the outbox, for people.
package struct WaitingUpload: Sendable {
    package var item: ItemID
    /// `nil` for a deleted item.
    package var inode: InodeNumber?
    /// Of a deleted item, where it was.
    package var path: String
    package var isDeletion: Bool
    /// The length of a file whose bytes are to be uploaded, else 0.
    package var byteCount: Int64
    package var isPaused: Bool
}

extension Outbox {
    /// The first changes.
    package func waitingUploads(limit: Int) throws -> [WaitingUpload] {
        var directories = DirectoryFacts(rows)
        return try rows.all(
            """
            SELECT o.item, o.deleted_base IS NOT NULL, e.inode, e.parent, e.name, e.paused, i.kind, i.dirty, i.size, o.base
            FROM outbox o LEFT JOIN entries e ON e.item = o.item LEFT JOIN inodes i ON i.id = e.inode
            ORDER BY o.position LIMIT ?
            """, [limit]
        ) { row in
            let item = ItemID(uuid: row[0])
            if row[1] {
                let record = try (row[9] as Data?).map { try ItemRecord(packed: $0) }
                return try deletedUpload(item, record, &directories)
            }
            guard let inode = row[2] as Int64?, let parent = row[3] as Int64?,
                let above = try directories.facts(of: InodeNumber(row: parent))
            else { return nil }
            let hasBytes = row[6] as Int64? == 0 && row[7] as Bool? == true
            return WaitingUpload(
                item: item, inode: InodeNumber(row: inode), path: above.path(of: try ItemName(row[4] as String)),
                isDeletion: false, byteCount: hasBytes ? row[8] as Int64? ?? 0 : 0,
                isPaused: above.isPaused || row[5] as Bool? == true)
        }.compactMap { (upload: WaitingUpload?) in upload }
    }

    /// - Parameter record: What was deleted; `nil` when that is not known.
    private func deletedUpload(
        _ item: ItemID, _ record: ItemRecord?, _ directories: inout DirectoryFacts
    ) throws -> WaitingUpload {
        var upload = WaitingUpload(
            item: item, inode: nil, path: record?.name.string ?? "", isDeletion: true, byteCount: 0, isPaused: false)
        guard let record else { return upload }
        // The directory may be deleted too: then only the name is known.
        let parent = record.parent == .root ? .root : try rows.entryRow(of: record.parent)?.inode
        if let parent, let above = try directories.facts(of: parent) {
            upload.path = above.path(of: record.name)
            upload.isPaused = above.isPaused
        }
        return upload
    }
}
