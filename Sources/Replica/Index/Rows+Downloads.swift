import Foundation
import GRDB
package import Linux
package import Model

/// Downloads, and where their bytes are.
extension Rows {
    /// Whether this is the staging file of the download that has begun, and not that of one that has ended.
    package func isStaging(_ file: Descriptor, of number: InodeNumber) throws -> Bool {
        let identity = try SystemCalls.status(of: file).identity
        return try transfer(of: number)?.identity.matches(identity) ?? false
    }

    func transfer(of number: InodeNumber) throws -> StagedDownloads.Transfer? {
        try first(Self.transferByNumber, number.row) {
            StagedDownloads.Transfer(
                file: $0[0], identity: BackingIdentity(inode: UInt64(bitPattern: $0[1] as Int64), born: $0[2]),
                content: $0[3], have: $0[4])
        }
    }

    private static let transferByNumber = IndexStatement(
        "SELECT file, backing, born, content, have FROM transfers WHERE inode = ?")

    /// Whether the bytes of a file are requested under one of its names.
    package func isDownloadRequested(_ number: InodeNumber) throws -> Bool {
        try exists(Self.requestedByNumber, number.row)
    }

    private static let requestedByNumber = IndexStatement(
        "SELECT 1 FROM entries WHERE inode = ? AND download_requested = 1")

    /// Files whose download is requested.
    package func requestedDownloads(limit: Int = .max) throws -> [InodeNumber] {
        try all(
            "SELECT DISTINCT inode FROM entries WHERE download_requested = 1 ORDER BY inode LIMIT ?", [limit]
        ) { InodeNumber(row: $0[0]) }
    }

    /// How many files are to be downloaded, and how many bytes they have.
    package func pendingDownloads() throws -> (count: Int, byteCount: Int64) {
        try first(
            """
            SELECT count(*), coalesce(sum(size), 0) FROM inodes
            WHERE id IN (SELECT inode FROM entries WHERE download_requested = 1)
            """, []
        ) { ($0[0], $0[1]) } ?? (0, 0)
    }

    /// How many files are to be downloaded of which nothing is wrong: not those that are damaged in the container, say.
    package func promisingDownloadCount() throws -> Int {
        try count("SELECT count(DISTINCT inode) FROM entries WHERE download_requested = 1 AND error IS NULL")
    }

    /// Requested downloads that failed with one of the given fault codes.
    package func requestedDownloads(failedWith codes: Set<Int>) throws -> [InodeNumber] {
        try all(
            """
            SELECT DISTINCT inode FROM entries WHERE download_requested = 1 AND error IS NOT NULL
            AND json_extract(error, '$.code') IN (SELECT value FROM json_each(?)) ORDER BY inode
            """, ["[\(codes.sorted().map(String.init).joined(separator: ","))]"]
        ) { InodeNumber(row: $0[0]) }
    }

    /// Who caused the last download of a file; `nil` when its bytes were made here, or nobody requested them.
    package func downloadOrigin(of inode: InodeNumber) throws -> DownloadOrigin? {
        try first("SELECT cause, requested, arrived FROM causes WHERE inode = ?", [inode.row]) {
            DownloadOrigin(
                cause: $0[0], requested: Timestamp(rawValue: $0[1]).rfc3339,
                arrived: ($0[2] as Int64?).map { Timestamp(rawValue: $0).rfc3339 })
        }
    }

    /// The place of a chunk that is stored in the container already.
    package func chunkLocation(_ hash: ChunkHash) throws -> Content.Piece.Stored? {
        try first(
            """
            SELECT pack, offset FROM chunks WHERE hash = ?
            AND NOT EXISTS(SELECT 1 FROM condemned WHERE object = pack)
            """, [Data(hash.bytes)]
        ) {
            Content.Piece.Stored(hash: hash, pack: PackID(uuid: $0[0]), offset: $0[1])
        }
    }

    /// The pack of the one-piece file that became known next after those of a pack: files that were uploaded together
    /// became known together, in the same order.
    ///
    /// - Parameter inode: One of the pack's files; ``nextPackLimit`` inodes from there on are examined.
    /// - Returns: `nil` when none of them is in another pack, or not local.
    package func nextPack(after pack: PackID, from inode: InodeNumber) throws -> PackID? {
        let contents = try all(
            """
            SELECT content FROM inodes WHERE id > ? AND id <= ? AND local = 0 AND content IS NOT NULL AND size <= ?
            ORDER BY id
            """, [inode.row, inode.row + Self.nextPackLimit, Int64(Content.chunkByteCount)]
        ) { $0[0] as Data }
        for content in contents {
            guard case .stored(let next, _, _)? = try Content(packed: content).runs.first else { continue }
            if next != pack { return next }
        }
        return nil
    }

    /// As many files of 64 KiB as fit into a pack.
    private static let nextPackLimit: Int64 = 256
}
