import GRDB
import Synchronization

/// The connections that only read the index, each used by one caller at a time.
///
/// GRDB's own pool takes three queue hops for each use and asks SQLite for the version of the schema, which costs more
/// than most of our statements; here the schema does not change while the index is open.
final class IndexReaders: Sendable {
    private struct Reader {
        let queue: DatabaseQueue
        let statements: PreparedStatements

        init(_ queue: DatabaseQueue) {
            self.queue = queue
            statements = queue.unsafeRead { PreparedStatements($0) }
        }

        func close() throws {
            queue.unsafeRead { _ in statements.finalize() }
            try queue.close()
        }
    }

    private struct State {
        var free: [Reader]
        var all: [Reader]
        /// How many are free, in use or being opened.
        var count = 1
        /// How many callers found none free.
        var waitCount = 0
        var isClosed = false
    }

    private let state: Mutex<State>
    private let limit: Int
    private let connect: @Sendable () throws -> DatabaseQueue

    /// - Parameter limit: The maximum number of connections; further callers wait for one of them in turn.
    init(limit: Int, connect: @escaping @Sendable () throws -> DatabaseQueue) throws {
        self.limit = limit
        self.connect = connect
        let first = Reader(try connect())
        state = Mutex(State(free: [first], all: [first]))
    }

    /// Runs `body` on one state of the index.
    func read<Value>(_ body: (Rows) throws -> Value) throws -> Value {
        try with { reader in
            try reader.queue.unsafeRead { database in
                try Rows(database: database, statements: reader.statements).onOneState(body)
            }
        }
    }

    private func with<Value>(_ body: (Reader) throws -> Value) throws -> Value {
        let (known, isShared) = try state.withLock { state -> (Reader?, Bool) in
            if state.isClosed { throw Self.closed }
            // The connection returned last has the most recent cache.
            if let last = state.free.popLast() { return (last, false) }
            if state.count >= limit {
                state.waitCount += 1
                return (state.all[state.waitCount % state.all.count], true)
            }
            state.count += 1
            return (nil, false)
        }
        let reader = try known ?? open()
        defer { if !isShared { state.withLock { $0.free.append(reader) } } }
        return try body(reader)
    }

    private func open() throws -> Reader {
        do {
            let reader = Reader(try connect())
            let isLate = state.withLock { state in
                if !state.isClosed { state.all.append(reader) }
                return state.isClosed
            }
            guard isLate else { return reader }
            try reader.close()
            throw Self.closed
        } catch {
            state.withLock { $0.count -= 1 }
            throw error
        }
    }

    private static var closed: DatabaseError {
        DatabaseError(resultCode: .SQLITE_MISUSE, message: "the index is closed")
    }

    /// Closes all connections, after waiting for the readers.
    func close() throws {
        let all = state.withLock { state in
            state.isClosed = true
            return state.all
        }
        for reader in all { try reader.close() }
    }
}
