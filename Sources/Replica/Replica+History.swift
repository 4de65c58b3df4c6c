package import Model

extension Replica {
    /// Forgets earlier states that were replaced before `time`.
    package func dropHistory(before time: Timestamp) throws(FileError) {
        try change { try $0.rows.dropHistory(before: time) }
    }
}
