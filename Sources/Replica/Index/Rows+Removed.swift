import GRDB
import Model

/// The table `removed`: it lets start-up repair recognise files that a power failure brought back.
extension Rows {
    /// Notes that the object of an inode in the backing directory is to be removed.
    func noteRemoved(_ number: InodeNumber) throws {
        try execute(Self.insertRemoved, number.row)
    }

    private static let insertRemoved = IndexStatement(
        "INSERT INTO removed(backing, born) SELECT backing, coalesce(born, 0) FROM inodes "
            + "WHERE id = ? AND backing IS NOT NULL")

    func noteRemoved(_ identity: BackingIdentity) throws {
        try execute(
            "INSERT INTO removed(backing, born) VALUES(?, ?)", [Int64(bitPattern: identity.inode), identity.born])
    }

    /// The id of the newest row, or 0.
    func newestRemoved() throws -> Int64 { try first("SELECT max(id) FROM removed", []) { $0[0] as Int64? ?? 0 } ?? 0 }

    /// Deletes the oldest rows, up to `newest`.
    ///
    /// - Parameter limit: How many rows at most.
    /// - Returns: The number of rows deleted.
    func forgetRemoved(upTo newest: Int64, limit: Int) throws -> Int {
        try execute(
            "DELETE FROM removed WHERE id IN (SELECT id FROM removed WHERE id <= ? ORDER BY id LIMIT ?)",
            [newest, limit])
        return database.changesCount
    }
}

/// The identities in the table `removed`.
struct RemovedIdentities {
    private var births: [UInt64: [Int64]] = [:]

    /// None.
    init() {}

    init(_ rows: Rows) throws {
        let identities = try rows.all("SELECT backing, born FROM removed", []) {
            BackingIdentity(inode: UInt64(bitPattern: $0[0] as Int64), born: $0[1])
        }
        for identity in identities { births[identity.inode, default: []].append(identity.born) }
    }

    /// Whether a file is certainly one of them: never where the file system has no birth times, as a new file may have
    /// got the number.
    func contains(_ identity: BackingIdentity) -> Bool {
        identity.born != 0 && births[identity.inode]?.contains(identity.born) ?? false
    }
}
