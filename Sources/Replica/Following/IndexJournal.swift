import GRDB
import Model
import Synchronization

/// Notes what the transactions of the writing connection change in the index, while somebody follows it.
///
/// Triggers of that connection note the changes, so that none is missed whatever code makes it; they exist only while
/// there are followers. Nobody else has them, and they end with the connection.
final class IndexJournal: Sendable {
    /// How many changes one transaction lists.
    static let changeLimit = 65_536

    /// A row of `entries` that was added, changed or removed.
    struct Edit {
        var inode: InodeNumber
        var old: Place?
        var new: Place?
    }

    struct Place: Hashable {
        var parent: InodeNumber
        var name: String
    }

    private struct State {
        var followerCount = 0
        var sequence: Int64 = 0
        var edits: [Edit] = []
        var inodes: Set<InodeNumber> = []
        var inherited: Set<InodeNumber> = []
        var isIncomplete = false
        /// Here, since a closure that a mutex guards by itself gets another wrapper each time it is read.
        var receive: (@Sendable (IndexChanges) -> Void)?

        var isEmpty: Bool { edits.isEmpty && inodes.isEmpty && inherited.isEmpty && !isIncomplete }

        mutating func add(_ body: (inout State) -> Void) {
            guard edits.count + inodes.count + inherited.count < IndexJournal.changeLimit else {
                return isIncomplete = true
            }
            body(&self)
        }

        mutating func clear() {
            edits = []
            inodes = []
            inherited = []
            isIncomplete = false
        }
    }

    private let state = Mutex(State())
    /// Whether the triggers exist.
    private let isOn = Atomic(false)

    /// - Parameter receive: Takes the changes of each transaction right after it, in order; never waits.
    func deliver(to receive: @escaping @Sendable (IndexChanges) -> Void) { state.withLock { $0.receive = receive } }

    // MARK: Followers

    func addFollower() { state.withLock { $0.followerCount += 1 } }

    func removeFollower() { state.withLock { $0.followerCount -= 1 } }

    /// Makes or drops the triggers, whichever the followers require. Called in a transaction of the writing connection.
    ///
    /// - Returns: The number of the last transaction that was listed.
    func adjust(_ rows: Rows) throws -> Int64 {
        let isNeeded = state.withLock { $0.followerCount > 0 }
        if isNeeded {
            if !isOn.load(ordering: .relaxed) {
                for function in functions { rows.database.add(function: function) }
                let last = try rows.meta(.changeSequence, as: Int64.self) ?? 0
                state.withLock { $0.sequence = last }
            }
            for (name, trigger) in Self.triggers {
                try rows.database.execute(sql: "CREATE TEMP TRIGGER IF NOT EXISTS \(name) \(trigger)")
            }
        } else {
            for (name, _) in Self.triggers { try rows.database.execute(sql: "DROP TRIGGER IF EXISTS temp.\(name)") }
        }
        isOn.store(isNeeded, ordering: .relaxed)
        return state.withLock { $0.sequence }
    }

    // MARK: Transactions

    /// The changes of the transaction that is about to be committed, numbered in the index; `nil` without any.
    func seal(_ rows: Rows) throws -> IndexChanges? {
        guard isOn.load(ordering: .relaxed) else { return nil }
        let noted = state.withLock { state -> State? in
            guard !state.isEmpty else { return nil }
            state.sequence += 1
            defer { state.clear() }
            return state
        }
        guard let noted else { return nil }
        try rows.setMeta(.changeSequence, noted.sequence)
        return IndexChanges(
            sequence: noted.sequence, places: try PlaceHistory.changes(noted.edits, rows), inodes: noted.inodes,
            inherited: noted.inherited, isIncomplete: noted.isIncomplete)
    }

    /// Changes were made that the triggers did not note: those who follow the index are told so with the next transaction.
    func noteMissedChanges() {
        guard isOn.load(ordering: .relaxed) else { return }
        note { $0.isIncomplete = true }
    }

    /// The transaction was undone.
    func discard() {
        guard isOn.load(ordering: .relaxed) else { return }
        state.withLock { $0.clear() }
    }

    /// The transaction was committed.
    func publish(_ changes: IndexChanges) {
        state.withLock { $0.receive }?(changes)
    }

    // MARK: Triggers

    private static let triggers = [
        (
            "follow_new",
            "AFTER INSERT ON main.entries BEGIN SELECT note_place(NULL, NULL, NEW.parent, NEW.name, NEW.inode); END"
        ),
        (
            "follow_gone",
            "AFTER DELETE ON main.entries BEGIN SELECT note_place(OLD.parent, OLD.name, NULL, NULL, OLD.inode); END"
        ),
        (
            "follow_place",
            """
            AFTER UPDATE OF parent, name ON main.entries
            BEGIN SELECT note_place(OLD.parent, OLD.name, NEW.parent, NEW.name, NEW.inode); END
            """
        ),
        (
            "follow_entry",
            """
            AFTER UPDATE OF inode, item, base, base_number, download_requested, error, conflicts ON main.entries
            BEGIN SELECT note_inode(NEW.inode); END
            """
        ),
        (
            "follow_settings",
            "AFTER UPDATE OF pinned, paused, excluded ON main.entries BEGIN SELECT note_inherited(NEW.inode); END"
        ),
        (
            "follow_inode",
            """
            AFTER UPDATE OF kind, mode, owner, grp, size, modified, changed, local, dirty, content, incoming
            ON main.inodes BEGIN SELECT note_inode(NEW.id); END
            """
        ),
        (
            "follow_queued",
            "AFTER INSERT ON main.outbox BEGIN SELECT note_inode(inode) FROM entries WHERE item = NEW.item; END"
        ),
        (
            "follow_sent",
            "AFTER DELETE ON main.outbox BEGIN SELECT note_inode(inode) FROM entries WHERE item = OLD.item; END"
        ),
        // Pins and pauses of the root.
        (
            "follow_root",
            """
            AFTER INSERT ON main.meta
            WHEN NEW.key IN ('\(MetaKey.rootPinned.rawValue)', '\(MetaKey.syncPaused.rawValue)')
            BEGIN SELECT note_inherited(\(InodeNumber.root.rawValue)); END
            """
        ),
    ]

    private var functions: [DatabaseFunction] {
        [
            DatabaseFunction("note_place", argumentCount: 5) { [self] values in
                func place(_ column: Int) -> Place? {
                    guard let parent = Int64.fromDatabaseValue(values[column]),
                        let name = String.fromDatabaseValue(values[column + 1])
                    else { return nil }
                    return Place(parent: InodeNumber(row: parent), name: name)
                }
                let (old, new) = (place(0), place(2))
                guard old != new, let inode = Int64.fromDatabaseValue(values[4]) else { return nil }
                note { $0.edits.append(Edit(inode: InodeNumber(row: inode), old: old, new: new)) }
                return nil
            },
            DatabaseFunction("note_inode", argumentCount: 1) { [self] values in
                guard let inode = Int64.fromDatabaseValue(values[0]) else { return nil }
                note { $0.inodes.insert(InodeNumber(row: inode)) }
                return nil
            },
            DatabaseFunction("note_inherited", argumentCount: 1) { [self] values in
                guard let inode = Int64.fromDatabaseValue(values[0]) else { return nil }
                note { $0.inherited.insert(InodeNumber(row: inode)) }
                return nil
            },
        ]
    }

    private func note(_ body: (inout State) -> Void) { state.withLock { $0.add(body) } }
}
