import GRDB
package import Model

/// The requests that changed names, or attributes under a condition: where one comes again, it must not be carried out again.
///
/// Each is noted in the change that carries it out, so that both are done or neither.
enum CarriedOutRequests {
    /// How many are kept: the kernel numbers its requests, and one that was not answered is at most so many changes old as
    /// threads make while one of them is about to answer.
    static let count: UInt64 = 4096

    static let insert = IndexStatement("INSERT OR REPLACE INTO requests(slot, request, inode) VALUES(?, ?, ?)")

    /// The kernel gives even numbers to requests.
    static func slot(of request: RequestNumber) -> Int64 { Int64(request.rawValue / 2 % count) }
}

extension ReplicaTransaction {
    /// Notes that this change carries out a request.
    ///
    /// - Parameters:
    ///   - request: `nil` for one that cannot come again.
    ///   - number: The inode that it makes or changes.
    package func note(_ request: RequestNumber?, made number: InodeNumber) throws {
        guard let request else { return }
        try rows.execute(
            CarriedOutRequests.insert, CarriedOutRequests.slot(of: request), Int64(request.rawValue), number.row)
    }
}

extension Rows {
    /// The inode that a request has made or changed; `nil` when it was not carried out.
    package func inode(madeBy request: RequestNumber) throws -> InodeNumber? {
        try all(
            "SELECT inode FROM requests WHERE slot = ? AND request = ?",
            [CarriedOutRequests.slot(of: request), Int64(request.rawValue)]
        ) { InodeNumber(row: $0[0]) }.first
    }

    /// The files and directories without a name, which are deleted when nothing uses them any more.
    package func namelessInodes() throws -> [InodeNumber] {
        try all("SELECT id FROM inodes WHERE links = 0 AND id <> 1", []) { InodeNumber(row: $0[0]) }
    }

    /// All directories that have a name, and the root.
    package func directories() throws -> [InodeNumber] {
        try all("SELECT id FROM inodes WHERE kind = 1 AND links > 0", []) { InodeNumber(row: $0[0]) }
    }

    /// The highest number that an inode has had.
    package func lastInode() throws -> InodeNumber {
        try all("SELECT seq FROM sqlite_sequence WHERE name = 'inodes'", []) { InodeNumber(row: $0[0]) }.first ?? .root
    }
}

extension Replica {
    /// Forgets the requests of an earlier mount: the kernel numbers those of each from the start.
    package func forgetRequests() throws(FileError) {
        try change { try $0.rows.execute("DELETE FROM requests") }
    }
}
