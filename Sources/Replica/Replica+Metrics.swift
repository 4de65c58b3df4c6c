package import Model

/// Counts for metrics, each with one query.
extension Replica {
    /// The items that have conflict versions.
    package func conflictedItemCount() throws(FileError) -> Int {
        try read { try $0.count("SELECT count(*) FROM entries WHERE conflicts IS NOT NULL") }
    }

    /// The files whose download is requested.
    package func requestedDownloadCount() throws(FileError) -> Int {
        try read { try $0.count("SELECT count(DISTINCT inode) FROM entries WHERE download_requested = 1") }
    }
}
