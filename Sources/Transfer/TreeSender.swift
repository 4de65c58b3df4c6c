import Model
import Remote
import Replica
import Sync

/// One new item to add to the container.
struct Arrival: Sendable {
    /// Its parent is an item of the container, or a directory that was sent before or precedes it in the batch.
    var record: ItemRecord
    /// Of a file.
    var content: Content?
    /// Whether it replaces an existing item, if that is still the one of the commit that the record is based on.
    var isReplacement = false
    /// Its source path, for people.
    let path: String
}

/// Adds new items to the container, a commit at a time, without overwriting anything but what it is told to replace.
///
/// A commit counts only on top of all earlier ones. A sender that loses the race for a commit number applies the
/// winner, checks again whether the names are free, and tries the next number.
struct TreeSender {
    /// How many items one commit takes.
    static let itemsPerCommit = Uploader.itemsPerCommit
    /// How many commits of other devices may land before ours.
    static let attemptLimit = 1000

    enum Outcome {
        case sent
        /// Bytes that the batch refers to were condemned before it landed: they must be stored again.
        case condemned
    }

    private let scratch: ScratchReplica
    private let manifests: ManifestStore
    private let notify: (TransferProblem) -> Void
    private(set) var report = TransferReport()
    /// Directories that turned out to exist already, by the id that they were to have.
    private var merged: [ItemID: ItemID] = [:]
    /// Directories that were not sent, so their contents are not either.
    private var lost: Set<ItemID> = []

    private var session: LogSession { scratch.sync.session }
    private var replica: Replica { session.replica }

    init(_ scratch: ScratchReplica, notify: @escaping (TransferProblem) -> Void) {
        self.scratch = scratch
        manifests = ManifestStore(store: scratch.sync.container.store)
        self.notify = notify
    }

    /// Reports and counts an item that is left out.
    mutating func report(_ problem: TransferProblem) {
        report.count(problem.kind)
        notify(problem)
    }

    mutating func notePresent() { report.presentCount += 1 }

    /// Notes other counts.
    mutating func note(_ change: (inout TransferReport) -> Void) { change(&report) }

    // MARK: Existing items

    /// The entry of a name in a directory of the container, without its content.
    func entry(_ name: ItemName, in parent: ItemID) throws(FileError) -> Entry? {
        guard let directory = try directory(parent) else { return nil }
        return try replica.read { try $0.entry(name, in: directory) }
    }

    /// The entries of a directory of the container.
    func entries(in parent: ItemID) throws(FileError) -> [Entry] {
        guard let directory = try directory(parent) else { return [] }
        return try replica.read { try $0.entries(in: directory) }
    }

    /// The item that has a name in a directory of the container.
    func occupant(_ name: ItemName, in parent: ItemID) async throws -> ImportConflict.Occupant? {
        guard let entry = try entry(name, in: parent), let item = entry.item else { return nil }
        let inode = try replica.read { try $0.inode(entry.inode) }
        var content = try inode.content
        if content == nil, let base = entry.base, let reference = base.content {
            do throws(StoreError) { content = try await manifests.get(reference, size: base.size) } catch {
                // Damaged: it cannot be shown to be the same.
                guard [.corrupt, .notFound, .invalid].contains(error.code) else { throw error }
            }
        }
        return ImportConflict.Occupant(item: item, kind: entry.kind, target: inode.target, content: content)
    }

    /// - Returns: `nil` when there is no such directory.
    private func directory(_ item: ItemID) throws(FileError) -> InodeNumber? {
        if item == .root { return .root }
        guard let entry = try replica.read({ try $0.entry(of: item) }), entry.kind == .directory else { return nil }
        return entry.inode
    }

    // MARK: Sending

    /// Sends the items of a batch whose names are free: as one commit, or as several when their records are long.
    ///
    /// - Parameter arrivals: At most ``itemsPerCommit``.
    mutating func send(_ arrivals: [Arrival]) async throws -> Outcome {
        var rest = arrivals[...]
        while !rest.isEmpty {
            var byteCount = 0
            let part = rest.prefix { arrival in
                byteCount += arrival.record.byteCountInCommit
                return byteCount <= Uploader.textBytesPerCommit
            }
            let sent = part.isEmpty ? rest.prefix(1) : part
            guard case .sent = try await sendTogether(Array(sent)) else { return .condemned }
            rest = rest[sent.endIndex...]
        }
        return .sent
    }

    private mutating func sendTogether(_ arrivals: [Arrival]) async throws -> Outcome {
        for _ in 0..<Self.attemptLimit {
            var plan = Plan(merged: merged, lost: lost)
            var isCondemned = false
            // The newest commit shows which items exist already.
            _ = try await session.catchUp()
            let outcome = try await session.append(pauses: ScratchReplica.pauses) {
                plan = try await self.plan(arrivals)
                isCondemned = try refersToCondemned(plan.accepted)
                guard !plan.accepted.isEmpty, !isCondemned else { return nil }
                try checkQuota(for: plan.accepted)
                try await writeManifests(&plan)
                return LogSession.Draft(records: plan.accepted.map(\.record))
            } landed: { commit in
                try apply(commit, plan.accepted)
            }
            switch outcome {
            case .overtaken: continue
            case .nothing where isCondemned: return .condemned
            case .nothing, .landed:
                resolve(plan)
                return .sent
            }
        }
        throw FileError(.busy, "commits of other devices kept landing first; try again later")
    }

    /// The result of a batch if its commit lands now.
    private struct Plan {
        var accepted: [Arrival] = []
        var problems: [TransferProblem] = []
        var presentCount = 0
        var merged: [ItemID: ItemID]
        var lost: Set<ItemID>
        /// The directories of the batch, and the names that it takes.
        var directories: Set<ItemID> = []
        var names: Set<NameKey> = []

        struct NameKey: Hashable {
            let parent: ItemID
            let name: ItemName
        }

        mutating func leaveOut(_ arrival: Arrival, _ reason: String) {
            lost.insert(arrival.record.id)
            problems.append(TransferProblem(.failed, path: arrival.path, reason))
        }
    }

    private func plan(_ arrivals: [Arrival]) async throws -> Plan {
        var plan = Plan(merged: merged, lost: lost)
        for var arrival in arrivals {
            let record = arrival.record
            let parent = plan.merged[record.parent] ?? record.parent
            arrival.record.parent = parent
            if let content = arrival.content {
                arrival.record.content = .inline(content)
                arrival.record.size = content.byteCount
            }
            // Other devices would drop the record, and the devices would diverge.
            if let fault = arrival.record.fault(in: Commit.highestNumber) {
                plan.leaveOut(arrival, fault)
                continue
            }
            guard arrival.record.byteCountInCommit <= ItemRecord.byteLimit else {
                plan.leaveOut(arrival, "its attributes are too long for one item")
                continue
            }
            if arrival.isReplacement {
                // Any commit since the comparison may be an edit.
                if let entry = try replica.read({ try $0.entry(of: record.id) }), entry.baseNumber == record.base {
                    plan.accepted.append(arrival)
                } else {
                    plan.leaveOut(arrival, "it was changed in the container meanwhile, and is kept")
                }
                continue
            }
            if plan.lost.contains(parent) {
                plan.leaveOut(arrival, "its directory was left out")
                continue
            }
            let isInBatch = plan.directories.contains(parent)
            if !isInBatch, try directory(parent) == nil {
                plan.leaveOut(arrival, "another device removed its directory")
                continue
            }
            let occupant = isInBatch ? nil : try await occupant(record.name, in: parent)
            switch ImportConflict(
                kind: record.kind, target: record.target, content: arrival.content, meeting: occupant)
            {
            case .present(let item):
                plan.merged[record.id] = item
                plan.presentCount += 1
            case .taken:
                plan.leaveOut(arrival, "another device has put another item there meanwhile, which is kept")
            case .free:
                guard plan.names.insert(.init(parent: parent, name: record.name)).inserted else {
                    plan.leaveOut(arrival, "another item of this tree has the same name")
                    continue
                }
                if record.kind == .directory { plan.directories.insert(record.id) }
                plan.accepted.append(arrival)
            }
        }
        return plan
    }

    private func refersToCondemned(_ arrivals: [Arrival]) throws(FileError) -> Bool {
        for content in arrivals.compactMap(\.content) where try replica.read({ try $0.refersToCondemned(content) }) {
            return true
        }
        return false
    }

    /// - Throws: ``FileError`` with `overQuota` when the container's quota has no room for the items.
    private func checkQuota(for arrivals: [Arrival]) throws(FileError) {
        guard var room = try QuotaRoom(replica) else { return }
        var growth: Int64 = 0
        for arrival in arrivals {
            let replaced =
                arrival.isReplacement ? try replica.read { try $0.entry(of: arrival.record.id) }?.base : nil
            growth = growth.addingWithoutOverflow(arrival.record.usedByteCount - (replaced?.usedByteCount ?? 0))
        }
        guard room.admit(growth) else {
            throw FileError(
                .overQuota, room.refusal(of: growth, remote: scratch.sync.context.location.remote))
        }
    }

    private func writeManifests(_ plan: inout Plan) async throws {
        for index in plan.accepted.indices {
            guard let content = plan.accepted[index].content else { continue }
            let replica = replica
            let environment = scratch.sync.context.environment
            plan.accepted[index].record.content = try await scratch.persistently {
                try await manifests.reference(to: content, replica, environment)
            }
        }
    }

    private func apply(_ commit: Commit, _ arrivals: [Arrival]) throws(FileError) {
        let contents = arrivals.compactMap { arrival in arrival.content.map { (arrival.record.id, $0) } }
        try session.applyAppended(commit, contents: Dictionary(uniqueKeysWithValues: contents))
    }

    private mutating func resolve(_ plan: Plan) {
        merged = plan.merged
        lost = plan.lost
        report.presentCount += plan.presentCount
        for arrival in plan.accepted {
            if arrival.isReplacement { report.replacedCount += 1 }
            switch arrival.record.kind {
            case .directory: report.directoryCount += 1
            case .symbolicLink: report.linkCount += 1
            case .file, .fifo, .socket, .characterDevice, .blockDevice:
                report.fileCount += 1
                report.byteCount += arrival.record.size
            }
        }
        plan.problems.forEach { report($0) }
    }
}
