import Foundation
import Model
import Remote
import Sealing
import Synchronization
import TestStores
import VirtualTime

/// The state that all devices of one run share: the time, the store, and the promises to users.
final class World: Sendable {
    let seed: UInt64
    let scenario: Scenario
    let executor: SeededExecutor
    let clock: VirtualClock
    let trace: Trace
    let store = MemoryStore()
    /// `nil` where the container is not sealed.
    let sealingKeys: SealingKeys?
    let model = ReferenceModel()
    let identity: ContainerIdentity
    /// The parent of the devices' state directories.
    let directory: String
    private let state = Mutex(State())

    private struct State {
        var violation: Violation?
        var lateCount = 0
        /// Every commit that landed: the log itself is trimmed.
        var commits: [CommitNumber: Commit] = [:]
        /// The directories in the container, as of the newest commit.
        var directories: Set<ItemID> = [.root]
        /// What garbage collection has deleted: users remember what they wrote.
        var deletedObjects: [String: [UInt8]] = [:]
    }

    init(seed: UInt64, directory: String, sabotage: Sabotage?, options: ScenarioOptions, isTraced: Bool) {
        self.seed = seed
        scenario = Scenario(seed: seed, sabotage: sabotage, options: options)
        sealingKeys = scenario.isSealed ? Self.sealingKeys : nil
        executor = SeededExecutor(seed: seed)
        clock = VirtualClock()
        trace = Trace(clock: clock, isPrinted: isTraced)
        self.directory = directory
        identity = ContainerIdentity(
            id: ContainerIdentifier("iCloud.simulation")!,
            uuid: Self.containerUUID,
            created: Timestamp(rawValue: 0),
            settings: .init(name: "Simulation", documentScopePublic: true, folderLevels: .any))
    }

    static let containerUUID = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))

    /// The start time: 2023-11-14T22:13:20Z.
    private static let start: Int64 = 1_700_000_000
    /// How long a read of the wall clock takes, so that no two changes have the same time.
    private static let tick = Duration.microseconds(1)

    /// The time on a wall clock that is off by `skew`.
    func wallTime(skew: Duration) -> Timestamp {
        clock.leap(Self.tick)
        let now = clock.now + skew
        return Timestamp(
            seconds: Self.start + now.components.seconds, nanoseconds: now.components.attoseconds / 1_000_000_000)
    }

    /// Reports a violation; the first one counts.
    func report(_ violation: Violation) { state.withLock { $0.violation = $0.violation ?? violation } }

    /// What was at a key before garbage collection deleted it.
    func deletedObject(_ key: String) -> [UInt8]? { state.withLock { $0.deletedObjects[key] } }

    /// Called before an object is deleted.
    func noteDeletion(of key: String) {
        guard let bytes = store.object(at: key) else { return }
        state.withLock { $0.deletedObjects[key] = bytes }
    }

    func throwViolation() throws(Violation) {
        if let violation = state.withLock({ $0.violation }) { throw violation }
    }

    /// Runs a closure after a delay, independently of the caller.
    func later(after delay: Duration, _ body: @escaping @Sendable () async -> Void) {
        state.withLock { $0.lateCount += 1 }
        Task(executorPreference: executor) { [self] in
            // It is never cancelled.
            try? await clock.sleep(delay)
            await body()
            state.withLock { $0.lateCount -= 1 }
        }
    }

    /// Whether closures of ``later(after:_:)`` are still to run.
    var isSomethingLate: Bool { state.withLock { $0.lateCount > 0 } }

    /// Traces a commit that has landed.
    func noteCommit(at key: String) {
        do {
            guard let object = try object(at: key) else { return }
            guard let number = ChangeLog.number(of: key) else { throw Violation("it has no number") }
            let text = try Gzip.decompress(object, limit: 1 << 28)
            // As devices read it: to `JSONDecoder` alone, names of attributes that differ in composition are one.
            let read = try DecodedCommit(text: text, sequence: number, key: key)
            guard read.rejected.isEmpty else { throw Violation("records are rejected: \(read.rejected.examples)") }
            let commit = read.commit
            state.withLock { $0.commits[commit.sequence] = commit }
            try note(commit)
            checkPlaces(in: commit)
        } catch {
            report(Violation("\(key) cannot be read: \(error)"))
        }
    }

    /// Whether a record leaves the file as the commit made it on which it is based: its device then uploads a mode or a time,
    /// and not a file that it has moved there.
    private func isUnchanged(_ record: ItemRecord, _ shown: FileContent) throws -> Bool {
        let commit = state.withLock { $0.commits[record.base] }
        guard let before = commit?.records.first(where: { $0.id == record.id }), let content = before.content,
            before.name == record.name
        else { return false }
        return try self.content(of: try chunks(of: content)).fingerprint == shown.fingerprint
    }

    private func note(_ commit: Commit) throws {
        for record in commit.records {
            let shown = try record.content.map { try self.content(of: try chunks(of: $0)) }
            if let shown, try !isUnchanged(record, shown) {
                model.noteCommitted(shown, as: record.name, by: commit.deviceName)
            }
            trace.note(
                """
                commit \(commit.sequence) by \(commit.deviceName): \(record.id.short) = \(record.parent.short)/\(record.name) \
                \(record.kind) base \(record.base) \(shown.map { "\($0)" } ?? record.target?.string ?? "")
                """)
        }
        for tombstone in commit.tombstones {
            trace.note(
                "commit \(commit.sequence) by \(commit.deviceName): \(tombstone.id.short) is gone, base \(tombstone.base)"
            )
        }
    }

    /// A commit puts items only into directories that the container has: a device that starts from the log would move
    /// them to the root.
    private func checkPlaces(in commit: Commit) {
        let lost = state.withLock { state in
            state.directories.subtract(commit.tombstones.map(\.id))
            for record in commit.records {
                if record.kind == .directory {
                    state.directories.insert(record.id)
                } else {
                    state.directories.remove(record.id)
                }
            }
            return commit.records.first { !state.directories.contains($0.parent) }
        }
        guard let lost else { return }
        report(
            Violation(
                "commit \(commit.sequence) by \(commit.deviceName) puts \(lost.name) into a directory that the container "
                    + "does not have"))
    }

    /// A commit that landed, trimmed since or not.
    func commit(_ number: CommitNumber) -> Commit? { state.withLock { $0.commits[number] } }

    /// The number of the newest commit.
    var newest: CommitNumber { state.withLock { CommitNumber($0.commits.count) } }
}

extension ItemID {
    /// Long enough to distinguish the items of one run.
    var short: Substring { self == .root ? "root" : description.prefix(8) }
}

/// A broken promise, in sentences.
struct Violation: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// A request to a daemon that has ended.
struct Outage: Error, CustomStringConvertible {
    let device: String
    var description: String { "\(device) is down" }
}
