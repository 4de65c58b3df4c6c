import Foundation
import GRDB
import Model

/// What the index has, as of one read or change, and the statements for that: each is prepared once per connection.
///
/// See ``Replica/read(_:)`` and ``ReplicaTransaction/rows``. Besides what is noted, every function throws `inputOutput`
/// for a damaged value, and SQLite's errors, which the replica translates: see `IndexError.swift`.
package struct Rows {
    let database: Database
    let statements: PreparedStatements
    /// Notes the statements of a change; `nil` for reading, and for a change with a transaction of its own.
    let recorder: StatementRecorder?

    /// - Parameter statements: Of the connection; without them, only what follows finds its statements prepared.
    init(database: Database, statements: PreparedStatements? = nil, recorder: StatementRecorder? = nil) {
        self.database = database
        self.statements = statements ?? PreparedStatements(database)
        self.recorder = recorder
    }

    // MARK: What is executed often

    /// Executes a statement of a change.
    func execute<each Argument: IndexArgument>(_ statement: IndexStatement, _ arguments: repeat each Argument) throws {
        try statements.run(statement, isInTransaction: true, repeat each arguments) { prepared in
            while try prepared.step() != nil {}
        }
        recorder?.note(statement, repeat each arguments)
    }

    /// Executes a statement of a change that returns a row, or none.
    func executeReturning<each Argument: IndexArgument, Value>(
        _ statement: IndexStatement, _ arguments: repeat each Argument, read: (ResultRow) throws -> Value
    ) throws -> Value? {
        let value = try statements.run(statement, isInTransaction: true, repeat each arguments) { prepared in
            let value = try prepared.step().map(read)
            while try prepared.step() != nil {}
            return value
        }
        recorder?.note(statement, repeat each arguments)
        return value
    }

    /// Begins or ends a transaction or a part of one.
    func control(_ statement: IndexStatement) throws {
        try statements.run(statement, isInTransaction: false) { _ = try $0.step() }
    }

    func first<each Argument: IndexArgument, Value>(
        _ statement: IndexStatement, _ arguments: repeat each Argument, read: (ResultRow) throws -> Value
    ) throws -> Value? {
        try statements.run(statement, isInTransaction: false, repeat each arguments) { try $0.step().map(read) }
    }

    func all<each Argument: IndexArgument, Value>(
        _ statement: IndexStatement, _ arguments: repeat each Argument, read: (ResultRow) throws -> Value
    ) throws -> [Value] {
        try statements.run(statement, isInTransaction: false, repeat each arguments) { prepared in
            var values: [Value] = []
            while let row = try prepared.step() { values.append(try read(row)) }
            return values
        }
    }

    func exists<each Argument: IndexArgument>(_ statement: IndexStatement, _ arguments: repeat each Argument) throws
        -> Bool
    {
        try first(statement, repeat each arguments) { _ in true } ?? false
    }

    // MARK: Everything else

    func execute(_ sql: String, _ arguments: StatementArguments = []) throws {
        let statement = try database.cachedStatement(sql: sql)
        guard let recorder else { return try statement.execute(arguments: arguments) }
        // GRDB's shorter way forgets the values.
        try statement.setArguments(arguments)
        try statement.execute()
        recorder.note(statement)
    }

    func first<Value>(_ sql: String, _ arguments: StatementArguments, _ read: (ResultRow) throws -> Value) throws
        -> Value?
    {
        let statement = try database.cachedStatement(sql: sql)
        let rows = try ResultRows(statement, arguments)
        return try withExtendedLifetime(rows) {
            let value = try rows.next().map(read)
            recorder?.note(statement)
            return value
        }
    }

    func all<Value>(_ sql: String, _ arguments: StatementArguments, _ read: (ResultRow) throws -> Value) throws
        -> [Value]
    {
        let rows = try ResultRows(database.cachedStatement(sql: sql), arguments)
        var values: [Value] = []
        while let row = try rows.next() { values.append(try read(row)) }
        return values
    }

    func exists(_ sql: String, _ arguments: StatementArguments) throws -> Bool {
        try first(sql, arguments) { _ in true } ?? false
    }

    func count(_ sql: String, _ arguments: StatementArguments = []) throws -> Int {
        try first(sql, arguments) { $0[0] } ?? 0
    }

    // MARK: Transactions

    private static let begin = IndexStatement("BEGIN")
    static let beginChange = IndexStatement("BEGIN IMMEDIATE")
    static let commit = IndexStatement("COMMIT")

    /// Runs `body` on one state of the index, of a connection that only reads.
    func onOneState<Value>(_ body: (Rows) throws -> Value) throws -> Value {
        try control(Self.begin)
        // Without a change it only fails after an error that has ended the transaction, which `body` throws.
        defer { try? control(Self.commit) }
        return try body(self)
    }

    /// Runs `body` as one change: all or nothing.
    func inTransaction<Value>(_ body: () throws -> Value) throws -> Value {
        try control(Self.beginChange)
        do {
            let value = try body()
            try control(Self.commit)
            return value
        } catch {
            // The caller must see the first error.
            try? database.rollback()
            throw error
        }
    }

    private static let metaValue = IndexStatement("SELECT value FROM meta WHERE key = ?")

    func meta<Value: StatementColumnConvertible>(_ key: MetaKey, as _: Value.Type = Value.self) throws -> Value? {
        try first(Self.metaValue, key.rawValue) { $0[0] as Value? } ?? nil
    }

    func setMeta(_ key: MetaKey, _ value: (any DatabaseValueConvertible)?) throws {
        try execute("INSERT OR REPLACE INTO meta(key, value) VALUES(?, ?)", [key.rawValue, value])
    }

    func setApplied(_ number: CommitNumber, nonce: UUID?, time: Timestamp?) throws {
        try setMeta(.applied, Int64(bitPattern: number))
        try setMeta(.appliedTime, time?.rawValue)
        try setMeta(.appliedCommit, nonce.map { "\(number) \($0.uuidString)" })
    }
}

/// Properties of the whole replica.
enum MetaKey: String {
    /// The UUID of the replica's container.
    case containerUUID = "container_uuid"
    case containerID = "container_id"
    case device
    /// The number of the newest applied commit.
    case applied
    /// That number and the nonce of the commit, as text; absent after a snapshot that does not have it.
    case appliedCommit = "applied_commit"
    /// When that commit was made, in nanoseconds since 1970, as its device said, or its snapshot was; a time that was
    /// still to come is that at which it was applied.
    case appliedTime = "applied_time"
    /// The time of the newest applied commit as ``ReplicaTransaction/setCommitTime(_:)`` takes it, in nanoseconds since
    /// 1970.
    case commitTime = "commit_time"
    /// The number of the snapshot that is being applied in steps, until its last step sets `applied`.
    case applying
    /// The identity of `files/` on the disk.
    case filesInode = "files_inode"
    case filesBorn = "files_born"
    /// Whether the owner and the attributes of the root are those of a directory that was taken over.
    case rootTaken = "root_taken"
    /// The root directory has no entry that could be pinned.
    case rootPinned = "root_pinned"
    /// Whether the whole container's sync is paused.
    case syncPaused = "sync_paused"
    /// Whether the waiting deletions are held until they are confirmed.
    case deletionsHeld = "deletions_held"
    /// The position in the outbox up to which deletions were confirmed.
    case deletionsConfirmed = "deletions_confirmed"
    /// The newest run of deletions that have reached the container: their count, and the time of the last.
    case deletionsLeft = "deletions_left"
    /// The container's quota in bytes when it was last read there; 0 for none, absent if it was never read since the
    /// replica was created.
    case quota
    /// The commits that were sent and whose outcome is unknown: the number that they have, and their nonces, as text; without
    /// nonces when none is.
    case sending
    /// The newest commit of this device that it met without remembering it, and when, as text.
    case putBack = "put_back"
    /// Counts the transactions that were listed for those who follow the index.
    case changeSequence = "change_sequence"
    /// The number of the last change in the redo log that is in the index.
    case batchedChange = "batched_change"
    /// Since when the times of last use are complete, in nanoseconds since 1970; absent while they are not noted.
    case usesNotedSince = "uses_noted_since"
    /// The length in bytes up to which files come by themselves, of the mount option; absent without it. See ``SmallFile``.
    case smallFileLimit = "small_file_limit"
    /// The same, of whichever rule reaches farthest; absent in the index of a version without rules of directories.
    case smallFileReach = "small_file_reach"
    /// The rules of paths for which such files were listed, as text.
    case smallFilePaths = "small_file_paths"
}

extension InodeNumber {
    /// As a row id.
    var row: Int64 { Int64(bitPattern: rawValue) }

    init(row: Int64) { self.init(rawValue: UInt64(bitPattern: row)) }
}
