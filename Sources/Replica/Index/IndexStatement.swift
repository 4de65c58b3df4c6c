import Synchronization

/// A statement that is executed often: each connection prepares it once, see ``PreparedStatements``.
///
/// GRDB finds a statement by a hash of its text, and boxes its arguments: that took longer than to execute most of them.
struct IndexStatement: Sendable {
    let sql: String
    /// Its place among those of a connection.
    let number: Int

    private static let count = Atomic(0)

    /// - Parameter sql: One statement; its arguments are `?`, or `?1` to `?n`.
    init(_ sql: String) {
        self.sql = sql
        number = Self.count.add(1, ordering: .relaxed).oldValue
    }
}
