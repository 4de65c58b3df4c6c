import Foundation
import Logging
import Model
import Remote
import Replica
import Synchronization

/// Brings local changes to the container, in the order of the outbox: bytes into packs, then one commit for a batch of items.
///
/// What is read for an upload and then changes before the commit is left out of it and stays in the outbox. What was packed by an
/// upload that did not reach its commit is found again by its hashes, so nothing is sent twice.
final class Uploader: Sendable {
    /// How many items one commit takes.
    static let itemsPerCommit = 1000
    /// How many bytes one commit takes before it closes; a single larger file still goes as one.
    static let bytesPerCommit: Int64 = 256 << 20
    /// How long a file that someone has open for writing must have been quiet.
    static let quiet = Duration.seconds(2)
    /// A commit waits until nothing has changed for one step, and at most all of them.
    static let lingerStep = Duration.milliseconds(20)
    static let lingerSteps = 25
    /// The pauses between attempts while the store does not answer.
    static let retryStart = Duration.milliseconds(200)
    static let retryLimit = Duration.seconds(5)

    private struct State {
        var problem: String?
        /// How many deletions are held.
        var heldDeletionCount = 0
        /// How many local changes there had been when nothing was left that may go out; `nil` while there may be.
        var idleSince: UInt64?
        var faults = UploadFaults(fullBatch: Uploader.itemsPerCommit)
        /// The file that is being read, and how far: for `isUploading` and `percentUploaded`.
        var current: [InodeNumber: Double] = [:]
    }

    private let state = Mutex(State())
    private let replica: Replica
    private let openFiles: OpenFiles
    private let store: any ObjectStore
    private let log: ChangeLog
    private let manifests: ManifestStore
    private let follower: Follower
    private let gate: CommitGate
    private let containerGuard: ContainerGuard
    private let environment: EngineEnvironment
    private let deviceName: String
    private let logger: Logger
    private let activity: Activity

    init(
        replica: Replica, openFiles: OpenFiles, store: any ObjectStore, follower: Follower, gate: CommitGate,
        containerGuard: ContainerGuard, environment: EngineEnvironment, deviceName: String, logger: Logger,
        activity: Activity
    ) {
        self.replica = replica
        self.openFiles = openFiles
        self.store = store
        log = ChangeLog(store: store)
        manifests = ManifestStore(store: store)
        self.follower = follower
        self.gate = gate
        self.containerGuard = containerGuard
        self.environment = environment
        self.deviceName = deviceName
        self.logger = logger
        self.activity = activity
    }

    /// What keeps changes from going out, in a sentence.
    var problem: String? { state.withLock { $0.problem } }

    /// 0 to 100 while the file is on its way, `nil` otherwise.
    func percent(of inode: InodeNumber) -> Double? { state.withLock { $0.current[inode] } }

    /// Why an item does not go out, of its own or because nothing does.
    func fault(of item: ItemID?) -> ItemFault? {
        state.withLock { state in
            item.flatMap { state.faults.fault(of: $0) } ?? state.problem.map { ItemFault(code: 4355, text: $0) }
        }
    }

    /// How many deletions are held until somebody confirms them.
    var heldDeletionCount: Int { state.withLock { $0.heldDeletionCount } }

    /// Why one of the items does not go out that the store has no room for.
    var anyFault: ItemFault? { state.withLock { $0.faults.any } }

    /// Whether nothing is left that may go out: what is in the outbox is held back.
    var isIdle: Bool {
        let changes = activity.localChanges
        return state.withLock { $0.idleSince == changes }
    }

    /// Tries what the store had no room for again at once.
    func retry(_ item: ItemID?) {
        state.withLock { $0.faults.retry(item) }
        activity.noteLocalChange()
    }

    /// Uploads whenever something changed, until cancelled.
    func run() async {
        var pause = Self.retryStart
        while !Task.isCancelled {
            let seen = activity.localChanges
            do {
                try await linger()
                let progress = try await uploadBatch()
                pause = Self.retryStart
                setProblem(nil)
                noteIdle(progress, since: seen)
                switch progress {
                case .committed: continue
                case .deferred: await activity.waitForLocalChange(since: seen, atMost: Self.quiet / 4)
                case .waiting(let pause): await activity.waitForLocalChange(since: seen, atMost: pause)
                case .nothing: await activity.waitForLocalChange(since: seen, atMost: nil)
                }
            } catch is CancellationError {
                return
            } catch {
                containerGuard.doubt()
                setProblem("changes wait: \((error as? FileError)?.detail ?? "\(error)")")
                await activity.waitForLocalChange(since: .max, atMost: pause)
                pause = min(pause * 2, Self.retryLimit)
            }
        }
    }

    /// Lets changes that come in quick succession travel in one commit: waits until there was none for a moment.
    private func linger() async throws(CancellationError) {
        var seen = activity.localChanges
        for _ in 0..<Self.lingerSteps {
            try await environment.sleep(Self.lingerStep)
            let now = activity.localChanges
            if now == seen { return }
            seen = now
        }
    }

    private func noteIdle(_ progress: Progress, since seen: UInt64) {
        let isIdle =
            switch progress {
            case .nothing: true
            case .committed, .deferred: false
            case .waiting(let pause): pause > DeletionHold.burstQuiet
            }
        state.withLock { $0.idleSince = isIdle ? seen : nil }
        if isIdle { activity.noteProgress() }
    }

    private func setProblem(_ problem: String?) {
        let changed = state.withLock { state in
            defer { state.problem = problem }
            return state.problem != problem
        }
        guard changed else { return }
        if let problem { logger.warning("\(problem)") } else { logger.info("changes go out again") }
        activity.noteProgress()
    }

    enum Progress: Equatable {
        case committed, deferred, nothing
        /// What is left waits for a while.
        case waiting(Duration)
    }

    /// One item of a batch, with what it was read as.
    private struct Candidate {
        let pending: Pending
        var record: ItemRecord?
        var content: Content?
        var generation: Int64 = 0
        var inode: InodeNumber?
        /// Whether the bytes were read here; otherwise the record carries on the reference that the container has.
        var wasRead = false
        /// Whether only the new place goes out, and the bytes follow: the item stays in the outbox.
        var isPlaceOnly = false
    }

    /// Uploads the head of the outbox as one commit, as far as nothing holds it back.
    func uploadBatch() async throws -> Progress {
        // Also while nothing goes out: what a mass delete is, is told by when it was made.
        var (exclusion, pause) = try judgeDeletions()
        if try replica.isContainerPaused() { return .nothing }
        let now = environment.uptime()
        var changed: [ItemID] = []
        for (item, position) in state.withLock({ $0.faults.positions })
        where try !replica.isPending(item, position: position) {
            changed.append(item)
        }
        let faults = state.withLock { state in
            state.faults.forget(changed)
            return state.faults
        }
        exclusion.items = faults.waiting(at: now)
        pause = [pause, faults.pause(at: now)].compactMap(\.self).min()
        let pending = try replica.pending(limit: faults.batchLimit, after: 0, except: exclusion)
        guard !pending.isEmpty else { return pause.map { .waiting($0) } ?? .nothing }
        try await containerGuard.admitCommit()
        do {
            return try await upload(pending)
        } catch let error as StoreError where error.code == .full {
            switch state.withLock({ $0.faults.refused(pending, error, at: now) }) {
            case .again:
                logger.warning("the store had no room", metadata: ["error": "\(error)"])
                activity.noteProgress()
                return .committed
            case .pause:
                throw error
            }
        }
    }

    /// - Returns: Which deletions stay for now, and when to look again.
    private func judgeDeletions() throws(FileError) -> (PendingExclusion, Duration?) {
        let deletions = try replica.pendingDeletions(
            within: DeletionHold.window, ifMoreThan: DeletionHold.countLimit)
        let decision = DeletionHold.decide(deletions, now: environment.now())
        let isHeld = decision == .hold
        if isHeld != deletions.areHeld {
            try replica.setDeletionsHeld(isHeld)
            logger.warning("\(isHeld ? "held" : "let go"): \(deletions.count) deletions")
        }
        state.withLock { $0.heldDeletionCount = isHeld ? deletions.count : 0 }
        switch decision {
        case .go: return (PendingExclusion(), nil)
        case .wait(let pause): return (PendingExclusion(deletionsAfter: deletions.confirmed), pause)
        case .hold: return (PendingExclusion(deletionsAfter: deletions.confirmed), nil)
        }
    }

    private func upload(_ pending: [Pending]) async throws -> Progress {
        defer { state.withLock { $0.current = [:] } }

        var upload = ContentUpload(
            replica: replica,
            writer: PackWriter(store: store, makeID: { [environment] in ItemID(uuid: environment.makeUUID()) }))
        var candidates: [Candidate] = []
        var byteCount: Int64 = 0
        var skipped = 0
        for item in pending {
            guard byteCount < Self.bytesPerCommit else { break }
            guard let candidate = try await readOrSkip(item, into: &upload) else {
                skipped += 1
                continue
            }
            byteCount += candidate.content == nil && candidate.inode != nil ? candidate.record?.size ?? 0 : 0
            candidates.append(candidate)
        }
        guard !candidates.isEmpty else { return .deferred }
        try await upload.finish()
        return try await commit(candidates, upload) ? .committed : (skipped > 0 ? .deferred : .committed)
    }

    /// What cannot be read here holds up nothing else: it stays in the outbox and is tried again.
    private func readOrSkip(_ item: Pending, into upload: inout ContentUpload) async throws -> Candidate? {
        do {
            return try await read(item, into: &upload)
        } catch let error as FileError {
            // Gone since the batch was listed: the outbox knows better by now.
            let isGone = error.code == .notFound
            logger.log(
                level: isGone ? .debug : .error, "an item was not uploaded",
                metadata: ["item": "\(item.item)", "error": "\(error)"])
            return nil
        }
    }

    /// Reads one item; `nil` when it must wait because it is being written.
    private func read(_ item: Pending, into upload: inout ContentUpload) async throws -> Candidate? {
        switch item.change {
        case .delete:
            return Candidate(pending: item)
        case .put(let entry, let inode, let xattrs, let parent):
            var candidate = Candidate(pending: item)
            candidate.record = try record(entry, inode, xattrs, parent)
            guard inode.attributes.kind == .file else { return candidate }
            candidate.inode = inode.attributes.inode
            candidate.generation = inode.generation
            if !inode.isModified, let content = inode.incoming ?? inode.content {
                // The bytes are where they were: an edit of the name or the attributes carries their reference on. Those that
                // are here may be older and of another length.
                if try !replica.refersToCondemned(content) {
                    candidate.content = content
                    candidate.record?.size = content.byteCount
                    return candidate
                }
                // Only what is not in the container can refer to what is condemned: a copy of what was deleted long ago.
                guard inode.isHere, inode.incoming == nil else {
                    throw FileError(.notFound, "the container has given up the bytes that \(entry.name) shares")
                }
            }
            guard inode.isHere else {
                // Neither here nor known: its manifest could not be read, so the record keeps referring to it.
                return candidate
            }
            let open = openFiles.inode(inode.attributes.inode)
            if let open, !open.beginUpload(uptime: environment.uptime(), quiet: Self.quiet) {
                return placeOnly(candidate, entry)
            }
            // Of a file that is still open the index does not know the size and times yet.
            if let open, open.takeUnrecorded(), let descriptor = open.descriptor {
                try replica.recordBytes(of: open.number, from: descriptor)
            }
            // Read again: a write between the listing and now has changed it.
            let now = try replica.inode(inode.attributes.inode)
            candidate.generation = now.generation
            candidate.wasRead = true
            candidate.record?.modified = now.attributes.modified
            let descriptor: Descriptor
            if let here = open?.descriptor {
                descriptor = here
            } else {
                descriptor = try replica.openBytes(of: inode.attributes.inode)
            }
            let size = max(now.attributes.size, 1)
            let number = inode.attributes.inode
            state.withLock { $0.current[number] = 0 }
            do {
                try await upload.add(number, base: now.content, from: descriptor) { done in
                    state.withLock { $0.current[number] = min(100, Double(done) * 100 / Double(size)) }
                }
            } catch let error as FileError where error.code == .superseded {
                return nil
            }
            return candidate
        }
    }

    /// The new place of a file whose bytes must wait, with the bytes that the container has: another item that took its old name
    /// may be on its way, and would be put aside by every other device while this one still stood there. `nil` when there is none.
    private func placeOnly(_ candidate: Candidate, _ entry: Entry) -> Candidate? {
        guard let base = entry.base, base.content != nil, var record = candidate.record,
            base.parent != record.parent || base.name != record.name
        else { return nil }
        record.content = base.content
        record.size = base.size
        record.modified = base.modified
        record.bytesDevice = base.maker == record.device ? nil : base.maker
        var candidate = candidate
        candidate.record = record
        candidate.inode = nil
        candidate.isPlaceOnly = true
        return candidate
    }

    private func record(
        _ entry: Entry, _ inode: Inode, _ xattrs: [String: Data], _ parent: ItemID
    ) throws(FileError) -> ItemRecord {
        guard let item = entry.item else { throw FileError(.invalid, "\(entry.name) has no identity in the container") }
        return ItemRecord(
            id: item, parent: parent, name: entry.name, kind: inode.attributes.kind, mode: inode.attributes.mode,
            modified: inode.attributes.modified, size: inode.attributes.kind == .file ? inode.attributes.size : 0,
            target: inode.target, xattrs: xattrs, content: entry.base?.content, conflicts: entry.conflicts,
            maker: inode.isModified ? nil : entry.base?.maker, device: replica.device, base: entry.baseNumber)
    }

    /// Appends one commit and notes it in the index.
    ///
    /// - Returns: Whether something was committed; `false` when every item changed while it was read.
    private func commit(_ candidates: [Candidate], _ upload: ContentUpload) async throws -> Bool {
        var finished: [Candidate] = []
        for var candidate in candidates {
            if let inode = candidate.inode, candidate.content == nil {
                // Changed, or gone, since it was read.
                guard (try? replica.inode(inode).generation) == candidate.generation else { continue }
                if let content = try upload.content(of: inode) {
                    candidate.content = content
                    candidate.record?.size = content.byteCount
                }
            }
            if let content = candidate.content {
                candidate.record?.content = try await manifests.reference(to: content, replica, environment)
            }
            if candidate.record?.kind == .file, candidate.record?.content == nil {
                throw FileError(.corrupt, "the bytes of \(candidate.record?.name.string ?? "") are not known")
            }
            if let record = candidate.record, let fault = record.fault(in: .max) {
                // Every other device would drop it, and then the devices would differ.
                throw FileError(.invalid, "the record of \(record.name) would break the format: \(fault)")
            }
            finished.append(candidate)
        }
        guard !finished.isEmpty else { return false }
        let batch = finished
        return try await gate.withGate { () async throws -> Bool in
            try await self.append(batch)
        }
    }

    /// Within the gate: the replica stays at one commit until this one is appended or another device's is applied.
    private func append(_ batch: [Candidate]) async throws -> Bool {
        try await follower.begin()
        // Since it was read an item may have changed here, or another device's commit was applied: only what stands is sent.
        var standing: [Candidate] = []
        for candidate in batch {
            if try replica.isPending(candidate.pending.item, position: candidate.pending.position) {
                standing.append(candidate)
            } else if candidate.record?.kind == .directory {
                // What lies in it may be in this batch too, so the batch is made anew.
                return true
            }
        }
        guard !standing.isEmpty, try !replica.isContainerPaused() else { return true }
        // What was condemned since it was packed is packed again.
        let objects = standing.flatMap { ($0.record?.references ?? []).flatMap(\.objects) }
        for object in Set(objects + standing.flatMap { ($0.content?.packs ?? []).map { .pack($0) } })
        where try replica.isCondemned(object) { return true }
        try await containerGuard.admitCommit()
        let tombstones = standing.compactMap { candidate -> Commit.Tombstone? in
            guard case .delete(let base) = candidate.pending.change else { return nil }
            return Commit.Tombstone(id: candidate.pending.item, base: base)
        }
        let commit = Commit(
            sequence: replica.applied + 1, device: replica.device, deviceName: deviceName, time: environment.now(),
            nonce: environment.makeUUID(), records: standing.compactMap(\.record), tombstones: tombstones)
        let outcome: ChangeLog.AppendOutcome
        do throws(StoreError) { outcome = try await log.append(commit) } catch {
            // Trimmed: this device was away for long. It catches up first, and the batch is made anew.
            guard error.code == .notFound else { throw error }
            return try await follower.applyNext()
        }
        switch outcome {
        case .lost:
            // Another device was first: its commit is applied, and the batch is made anew on top of it.
            _ = try await follower.applyNext()
        case .landed:
            try note(commit, standing)
            state.withLock { $0.faults.sent(standing.map(\.pending.item)) }
            activity.noteProgress()
        }
        return true
    }

    private func note(_ commit: Commit, _ batch: [Candidate]) throws(FileError) {
        try replica.write { transaction throws(FileError) in
            for candidate in batch {
                let item = candidate.pending.item
                if let record = candidate.record, try transaction.entry(of: item) == nil {
                    // Removed here while it was on its way: the container has it, so now it must be deleted there.
                    try transaction.enqueueDeletion(record, base: commit.sequence)
                    continue
                }
                if let record = candidate.record, let entry = try transaction.entry(of: item) {
                    try transaction.setBase(entry, record: record, number: commit.sequence)
                    if candidate.wasRead, let inode = candidate.inode, let content = candidate.content,
                        inode == entry.inode
                    {
                        try transaction.markUploaded(inode, generation: candidate.generation, content: content)
                    }
                }
                if !candidate.isPlaceOnly { try transaction.dequeue(item, position: candidate.pending.position) }
            }
            try transaction.setApplied(commit.sequence, nonce: commit.nonce)
        }
    }
}
