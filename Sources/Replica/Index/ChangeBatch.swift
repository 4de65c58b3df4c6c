import GRDB
import Synchronization

/// Changes that are done, and become one transaction of the index together: see ``Replica/startBatches(_:)``.
///
/// Each is a savepoint of the open transaction, and in the ``RedoLog`` before it is acknowledged.
///
/// `@unchecked Sendable`: all but ``isOpen`` is used on the writing connection's queue only.
final class ChangeBatch: @unchecked Sendable {
    /// The most changes of one batch: what they need in the index's log must fit into the ``DiskReserve``, since nobody
    /// can be told any more that the disk is full.
    static let changeLimit = 64

    /// A change whose statements do not fit into the redo log, or could not be noted.
    struct Unbatchable: Error {}

    /// SQLite has ended the transaction: see ``restore(_:)``.
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
        let value: Value
        do {
            try rows.control(Self.save)
            value = try body()
            guard !recorder.isIncomplete, redo.hasRoom(for: recorder.bytes.count) else { throw Unbatchable() }
            try redo.append(recorder.bytes)
            try rows.control(Self.release)
        } catch {
            // The caller must see the first error. SQLite itself ends the transaction after some of them: see `isLost`.
            if isFirst {
                try? rows.database.rollback()
            } else if rows.database.isInsideTransaction {
                do {
                    try rows.control(Self.undo)
                    try rows.control(Self.release)
                } catch {
                    // Nothing of the change may be left: the others are made again, see `isLost`.
                    try? rows.database.rollback()
                }
            }
            throw error
        }
        count += 1
        if isFirst {
            open.store(true, ordering: .releasing)
            began()
        }
        return value
    }

    private static let save = IndexStatement("SAVEPOINT change")
    private static let release = IndexStatement("RELEASE change")
    private static let undo = IndexStatement("ROLLBACK TO change")

    var isFull: Bool { count >= Self.changeLimit }

    /// Whether SQLite has ended the transaction with an error, and with it the changes before: ``restore(_:)`` makes them
    /// again.
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
