import GRDB
package import Model
import Synchronization

/// The container's quota, and how much of it is used.
extension Replica {
    /// The quota as this device last read it; `nil` for none.
    package var quota: ContainerQuota? { knownQuota.withLock { $0 } }

    /// Notes the quota, for the next start too: it may be offline.
    ///
    /// - Returns: Whether it is another one than before.
    /// - Throws: Why it could not be recorded; it is known nevertheless.
    package func setQuota(_ quota: ContainerQuota?) throws(FileError) -> Bool {
        guard self.quota != quota else { return false }
        knownQuota.withLock { $0 = quota }
        try change { transaction in try transaction.rows.setMeta(.quota, quota?.byteCount ?? 0) }
        return true
    }
}

extension Rows {
    /// The sizes of the container's files and of their conflict versions, as far as this device has followed it.
    ///
    /// What was deleted here counts no longer. It is kept by triggers, and read in some ten microseconds.
    package func usedByteCount() throws -> Int64 {
        max(0, try first("SELECT bytes FROM usage", []) { $0[0] as Int64 } ?? 0)
    }

    /// ``usedByteCount()``, and what was deleted here but is still in the container.
    ///
    /// It takes time in proportion to the deletions that wait.
    package func committedByteCount() throws -> Int64 {
        let deleted = try first(
            """
            SELECT CAST(total(record_bytes(base)) AS INTEGER) FROM outbox
            WHERE deleted_base IS NOT NULL AND base IS NOT NULL
            """, []
        ) { $0[0] as Int64 }
        return try usedByteCount().addingWithoutOverflow(deleted ?? 0)
    }
}
