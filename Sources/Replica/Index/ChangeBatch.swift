import GRDB
import Synchronization

/// Changes that are done, and become one transaction of the index together: see ``Replica/startBatches(_:)``.
///
/// Each is in the ``RedoLog`` before it is acknowledged.
///
/// `@unchecked Sendable`: all but ``isOpen`` is used on the writing connection's queue only.
final class ChangeBatch: @unchecked Sendable {
    /// The most changes of one batch: what they need in the index's log must fit into the ``DiskReserve``, since nobody
    /// can be told any more that the disk is full.
    static let changeLimit = 64

    /// A change whose statements do not fit into the redo log, or could not be noted.
    struct Unbatchable: Error {}

    /// The transaction has ended: see ``restore(_:)``.
    struct Lost: Error {}

    let recorder = StatementRecorder()
    private var redo: RedoLog?
    private var began: @Sendable () -> Void = {}
    private var count = 0
    private let open = Atomic(false)

    /// Whether there are changes that the other connections do not see.
    var isOpen: Bool { open.load(ordering: .acquiring) }

    var isOn: Bool { redo != nil }

    /// - Parameter began: Called when a batch begins: it is to be committed soon.
    func start(_ redo: RedoLog, began: @escaping @Sendable () -> Void) {
        self.redo = redo
        self.began = began
    }

    func stop() throws {
        let ended = redo
        redo = nil
        try ended?.remove()
    }

    /// Runs `body` as one change of the batch: all or nothing, even after `kill -9`.
    ///
    /// - Parameter rows: With ``recorder``.
    /// - Throws: The error of `body`; `Unbatchable`, after which the batch is to be committed, and the change made without.
    func change<Value>(_ rows: Rows, _ body: () throws -> Value) throws -> Value {
        guard let redo else { throw Unbatchable() }
        let isFirst = !isOpen
        if isFirst { try rows.control(Rows.beginChange) }
        recorder.restart()
        let changeCount = rows.database.totalChangesCount
        let value: Value
        do {
            value = try body()
            guard !recorder.isIncomplete, redo.hasRoom(for: recorder.bytes.count) else { throw Unbatchable() }
            try redo.append(recorder.bytes)
        } catch {
            // Most changes that fail have not changed anything yet. After the others the batch is made again, see `isLost`: a
            // savepoint for each change would cost more.
            if isFirst || rows.database.totalChangesCount != changeCount { try? rows.database.rollback() }
            throw error
        }
        count += 1
        if isFirst {
            open.store(true, ordering: .releasing)
            began()
        }
        return value
    }

    var isFull: Bool { count >= Self.changeLimit }

    /// Whether the transaction has ended with an error, and with it the changes before: ``restore(_:)`` makes them again.
    func isLost(_ database: Database) -> Bool { isOpen && !database.isInsideTransaction }

    /// Makes the changes of the batch again in a new transaction, if they are lost.
    func restore(_ rows: Rows) throws {
        guard isLost(rows.database), let redo else { return }
        try rows.control(Rows.beginChange)
        do { try redo.replay(into: rows.database) } catch {
            try? rows.database.rollback()
            throw error
        }
    }

    func commit(_ rows: Rows) throws {
        guard isOpen, let redo else { return }
        guard !isLost(rows.database) else { throw Lost() }
        try rows.setMeta(.batchedChange, redo.number)
        try rows.control(Rows.commit)
        redo.restart()
        count = 0
        open.store(false, ordering: .releasing)
    }
}
