import Foundation
import GRDB
package import Model

/// A preview that waits to be uploaded.
package enum WaitingPreview: Hashable, Sendable {
    case set([UInt8])
    /// The one in the container is to go.
    case removal
}

/// The previews that wait to be uploaded, each with the bytes that it is of: a change of the file makes it worthless.
package struct WaitingPreviews {
    /// How many bytes of previews may wait: 16 MiB.
    package static let byteLimit: Int64 = 16 << 20

    let transaction: ReplicaTransaction
    private var rows: Rows { transaction.rows }

    /// Sets the preview of a file's bytes as they are; with `nil` it is to have none.
    ///
    /// - Throws: `unsupported` for what is not synced or no file, and for a preview of what is not local; `invalid` or
    ///   `attributeTooLarge` for bytes that are no preview; `busy` when too many wait.
    package func set(_ preview: [UInt8]?, of number: InodeNumber) throws {
        let row = try rows.inodeRow(number)
        guard row.kind == .file, try rows.entryRows(of: number).contains(where: { $0.item != nil }) else {
            throw FileError(.unsupported, "only files that are synced have previews")
        }
        if let preview {
            guard row.isLocal, try rows.contents(of: number).incoming == nil else {
                throw FileError(.unsupported, "a preview is made where the bytes are: download the file first")
            }
            guard preview.count <= ItemPreview.byteLimit else {
                throw FileError(
                    .attributeTooLarge, "a preview of \(preview.count) bytes: at most \(ItemPreview.byteLimit)")
            }
            guard ItemPreview.accepts(preview) else { throw FileError(.invalid, "a preview is a JPEG") }
            try makeRoom(for: preview.count)
        }
        try rows.execute(
            Self.insert, number.row, row.attributes.modified.rawValue, row.attributes.size, Data(preview ?? []))
        try transaction.outbox.enqueueItems(of: number)
    }

    private static let insert = IndexStatement(
        "INSERT OR REPLACE INTO previews(inode, modified, size, bytes) VALUES(?, ?, ?, ?)")

    private func makeRoom(for byteCount: Int) throws {
        guard try waitingByteCount() + Int64(byteCount) > Self.byteLimit else { return }
        // Those of files that ceased to be synced wait for nothing.
        try rows.execute(
            "DELETE FROM previews WHERE inode NOT IN (SELECT e.inode FROM outbox o JOIN entries e ON e.item = o.item)")
        guard try waitingByteCount() + Int64(byteCount) > Self.byteLimit else { return }
        throw FileError(.busy, "too many previews wait to be uploaded; try again later")
    }

    private func waitingByteCount() throws -> Int64 {
        try rows.first("SELECT coalesce(sum(length(bytes)), 0) FROM previews", []) { $0[0] } ?? 0
    }

    /// Forgets the preview of a file that a commit has, unless another name of the file is still to be uploaded, or that is
    /// of older bytes.
    ///
    /// - Parameter isOutdated: Whether it is to go in any case.
    package func forget(_ number: InodeNumber, isOutdated: Bool = false) throws {
        let waits = "SELECT 1 FROM outbox o JOIN entries e ON e.item = o.item WHERE e.inode = ?1"
        try rows.execute(
            "DELETE FROM previews WHERE inode = ?1 AND (?2 OR NOT EXISTS(\(waits)))", [number.row, isOutdated])
    }
}

extension ReplicaTransaction {
    package var previews: WaitingPreviews { WaitingPreviews(transaction: self) }
}

extension Rows {
    /// The preview of a file that waits to be uploaded.
    ///
    /// - Returns: `nil` when none waits; `isOutdated` when it is one of other bytes than the file has now.
    package func waitingPreview(of number: InodeNumber) throws -> (preview: WaitingPreview, isOutdated: Bool)? {
        try first(Self.waitingPreview, number.row) { row in
            let bytes: Data = row[0]
            return (bytes.isEmpty ? .removal : .set(Array(bytes)), row[1])
        }
    }

    private static let waitingPreview = IndexStatement(
        """
        SELECT p.bytes, p.modified <> i.modified OR p.size <> i.size FROM previews p JOIN inodes i ON i.id = p.inode
        WHERE p.inode = ?
        """)
}
