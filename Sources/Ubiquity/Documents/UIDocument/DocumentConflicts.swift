/// Whether a document's file is in conflict.
enum DocumentConflicts {
    /// Asks the container by an attribute, which is answered without a request to the daemon's socket.
    static func exist(at url: URL) -> Bool {
        DocumentAttributes(path: url.path)?.status("hasUnresolvedConflicts") == "1"
    }
}
