package import Model

/// Counts for metrics, each with one query.
extension Replica {
    /// The files whose download is requested.
    package func requestedDownloadCount() throws(FileError) -> Int {
        try read { try $0.count("SELECT count(DISTINCT inode) FROM entries WHERE download_requested = 1") }
    }
}
