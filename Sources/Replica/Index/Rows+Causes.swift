import GRDB
package import Model

/// The table `causes`.
extension Rows {
    /// Longer causes are cut: a program's name is at most 15 bytes.
    private static let causeLimit = 200

    /// Notes who causes a download, unless one that was requested before has not ended.
    func noteCause(_ cause: String, of inode: InodeNumber, at now: Timestamp) throws {
        try execute(
            """
            INSERT INTO causes(inode, cause, requested) VALUES(?1, ?2, ?3) ON CONFLICT(inode)
            DO UPDATE SET cause = ?2, requested = ?3, arrived = NULL WHERE arrived IS NOT NULL
            """, [inode.row, String(cause.prefix(Self.causeLimit)), now.rawValue])
    }

    /// A request ended without its bytes.
    func forgetCause(of inode: InodeNumber) throws {
        try execute("DELETE FROM causes WHERE inode = ? AND arrived IS NULL", [inode.row])
    }

    /// The requested bytes came, and the file has another inode if older ones were local.
    func noteArrival(of inode: InodeNumber, as new: InodeNumber, at now: Timestamp) throws {
        try execute(
            "UPDATE OR REPLACE causes SET inode = ?, arrived = ? WHERE inode = ?", [new.row, now.rawValue, inode.row])
    }

    /// Who caused the last download of a file; `nil` when its bytes were made here, or nobody requested them.
    package func downloadOrigin(of inode: InodeNumber) throws -> DownloadOrigin? {
        try first("SELECT cause, requested, arrived FROM causes WHERE inode = ?", [inode.row]) {
            DownloadOrigin(
                cause: $0[0], requested: Timestamp(rawValue: $0[1]).rfc3339,
                arrived: ($0[2] as Int64?).map { Timestamp(rawValue: $0).rfc3339 })
        }
    }
}
