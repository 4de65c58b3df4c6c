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
    static let retryLimit = Duration.seconds(15)

    private struct State {
        var problem: String?
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
    private let environment: EngineEnvironment
    private let deviceName: String
    private let logger: Logger
    private let activity: Activity

    init(
        replica: Replica, openFiles: OpenFiles, store: any ObjectStore, follower: Follower, gate: CommitGate,
        environment: EngineEnvironment, deviceName: String, logger: Logger, activity: Activity
    ) {
        self.replica = replica
        self.openFiles = openFiles
        self.store = store
        log = ChangeLog(store: store)
        manifests = ManifestStore(store: store)
        self.follower = follower
        self.gate = gate
        self.environment = environment
        self.deviceName = deviceName
        self.logger = logger
        self.activity = activity
    }

    /// What keeps changes from going out, in a sentence.
    var problem: String? { state.withLock { $0.problem } }

    /// 0 to 100 while the file is on its way, `nil` otherwise.
    func percent(of inode: InodeNumber) -> Double? { state.withLock { $0.current[inode] } }

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
                switch progress {
                case .committed: continue
                case .deferred: await activity.waitForLocalChange(since: seen, atMost: Self.quiet / 4)
                case .nothing: await activity.waitForLocalChange(since: seen, atMost: nil)
                }
            } catch is CancellationError {
                return
            } catch {
                setProblem("changes wait: \(error)")
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

    private func setProblem(_ problem: String?) {
        let changed = state.withLock { state in
            defer { state.problem = problem }
            return state.problem != problem
        }
        guard changed else { return }
        if let problem { logger.warning("\(problem)") } else { logger.info("changes go out again") }
        activity.noteProgress()
    }

    enum Progress { case committed, deferred, nothing }

    /// One item of a batch, with what it was read as.
    private struct Candidate {
        let pending: Pending
        var record: ItemRecord?
        var content: Content?
        var generation: Int64 = 0
        var inode: InodeNumber?
    }

    /// Uploads the head of the outbox as one commit.
    func uploadBatch() async throws -> Progress {
        let pending = try replica.pending(limit: Self.itemsPerCommit, after: 0)
        guard !pending.isEmpty else { return .nothing }
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
            guard inode.isModified || inode.content == nil else {
                // The bytes are where they were: an edit of the name or the attributes carries their reference on.
                candidate.content = inode.incoming ?? inode.content
                return candidate
            }
            guard inode.isHere else {
                // Neither here nor known: its manifest could not be read, so the record keeps referring to it.
                return candidate
            }
            let open = openFiles.inode(inode.attributes.inode)
            if let open, !open.beginUpload(uptime: environment.uptime(), quiet: Self.quiet) { return nil }
            // Read again: a write between the listing and now has changed it.
            let now = try replica.inode(inode.attributes.inode)
            candidate.generation = now.generation
            let descriptor: Descriptor
            if let here = open?.descriptor {
                descriptor = here
            } else {
                descriptor = try replica.openBytes(of: inode.attributes.inode)
            }
            let size = max(now.attributes.size, 1)
            let number = inode.attributes.inode
            do {
                try await upload.add(now, from: descriptor) { done in
                    state.withLock { $0.current[number] = min(100, Double(done) * 100 / Double(size)) }
                }
            } catch let error as FileError where error.code == .superseded {
                return nil
            }
            return candidate
        }
    }

    private func record(
        _ entry: Entry, _ inode: Inode, _ xattrs: [String: Data], _ parent: ItemID
    ) throws(FileError) -> ItemRecord {
        guard let item = entry.item else { throw FileError(.invalid, "\(entry.name) has no identity in the container") }
        return ItemRecord(
            id: item, parent: parent, name: entry.name, kind: inode.attributes.kind, mode: inode.attributes.mode,
            modified: inode.attributes.modified, size: inode.attributes.kind == .file ? inode.attributes.size : 0,
            target: inode.target, xattrs: xattrs, content: entry.base?.content, device: replica.device,
            base: entry.baseNumber)
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
            if let content = candidate.content { candidate.record?.content = try await manifests.put(content) }
            if candidate.record?.kind == .file, candidate.record?.content == nil {
                throw FileError(.corrupt, "the bytes of \(candidate.record?.name.string ?? "") are not known")
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
        guard !standing.isEmpty else { return true }
        let tombstones = standing.compactMap { candidate -> Commit.Tombstone? in
            guard case .delete(let base) = candidate.pending.change else { return nil }
            return Commit.Tombstone(id: candidate.pending.item, base: base)
        }
        let commit = Commit(
            sequence: replica.applied + 1, device: replica.device, deviceName: deviceName, time: environment.now(),
            nonce: environment.makeUUID(), records: standing.compactMap(\.record), tombstones: tombstones)
        switch try await log.append(commit) {
        case .lost:
            // Another device was first: its commit is applied, and the batch is made anew on top of it.
            _ = try await follower.applyNext()
        case .landed:
            try note(commit, standing)
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
                    try transaction.enqueueDeletion(item, base: commit.sequence, baseParent: record.parent)
                    continue
                }
                if let record = candidate.record, let entry = try transaction.entry(of: item) {
                    try transaction.setBase(entry, record: record, number: commit.sequence)
                    if let inode = candidate.inode, let content = candidate.content, inode == entry.inode {
                        try transaction.markUploaded(inode, generation: candidate.generation, content: content)
                    }
                }
                try transaction.dequeue(item, position: candidate.pending.position)
            }
            try transaction.setApplied(commit.sequence)
        }
    }
}
