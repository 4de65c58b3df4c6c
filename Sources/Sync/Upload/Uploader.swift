import CoreMetrics
import Foundation
import Logging
import Metering
package import Model
import Remote
import Replica
import Synchronization

/// Uploads local changes, in the order of the outbox: bytes into packs, then one commit for a batch of items.
///
/// An item that changes between its upload and the commit is left out of the commit and stays in the outbox. Chunks
/// of an upload that was not committed are found again by their hashes, so nothing is sent twice.
package final class Uploader: Sendable {
    /// How many items one commit takes.
    package static let itemsPerCommit = 1000
    /// How many bytes one commit takes before it closes; a single larger file still goes as one.
    package static let bytesPerCommit: Int64 = 256 << 20
    /// How many bytes of text one commit takes before it closes: 16 MiB; a single longer record still goes as one.
    package static let textBytesPerCommit = 16 << 20
    /// How long a file that is open for writing must be idle before it is uploaded.
    static let quiet = Duration.seconds(2)
    /// A commit waits until nothing has changed for one step, and at most for all of them.
    static let lingerStep = Duration.milliseconds(20)
    static let lingerSteps = 25
    /// The pauses between attempts while the store does not answer.
    static let retryStart = Duration.milliseconds(200)
    static let retryLimit = Duration.seconds(5)

    struct State {
        /// How many deletions are held.
        var heldDeletionCount = 0
        /// How often the user has answered for held deletions: what was counted before an answer is not shown after it.
        var answerCount = 0
        /// The count of local changes when nothing was left that may be uploaded; `nil` while there may be something.
        var idleSince: UInt64?
        var faults = UploadFaults(fullBatch: Uploader.itemsPerCommit)
        /// The files of the batch that were read or are being read, and how far: for `isUploading` and
        /// `percentUploaded`.
        var current: [InodeNumber: UploadProgress] = [:]
        var busy: BusyFiles
        /// How many packs the last upload sent at a time.
        var window = SendWindow()
        /// How many callers wait for uploads.
        var waiterCount = 0
    }

    let state: Mutex<State>
    let context: SyncContext
    let local: any LocalFiles
    let coordination: any SyncCoordination
    let store: any ObjectStore
    let session: LogSession
    let manifests: ManifestStore
    private let report: SyncProblem

    var replica: Replica { context.replica }
    var environment: EngineEnvironment { context.environment }
    var logger: Logger { context.logger }
    var activity: Activity { context.activity }

    init(session: LogSession, store: any ObjectStore, local: any LocalFiles, coordination: any SyncCoordination) {
        context = session.context
        state = Mutex(State(busy: BusyFiles(interval: session.context.busyUploadInterval)))
        self.session = session
        self.local = local
        self.coordination = coordination
        self.store = store
        manifests = ManifestStore(store: store)
        report = SyncProblem(over: "uploading has resumed", context)
    }

    /// Why changes are not uploaded, in a sentence.
    package var problem: String? { context.readOnlySentence ?? report.sentence }

    /// 0 to 100 while the file is being uploaded, `nil` otherwise.
    package func percent(of inode: InodeNumber) -> Double? { state.withLock { $0.current[inode]?.percent } }

    /// How far the uploads under way are: 0 to 100.
    package var percents: [InodeNumber: Double] { progress.mapValues(\.percent) }

    /// The uploads under way.
    package var progress: [InodeNumber: UploadProgress] { state.withLock { $0.current } }

    /// Why an item is not uploaded, for a reason of its own or because uploading is blocked.
    package func fault(of item: ItemID?) -> ItemFault? {
        let problem = problem
        return state.withLock { state in
            item.flatMap { state.faults.fault(of: $0) } ?? problem.map { ItemFault(code: 4355, text: $0) }
        }
    }

    /// Why an item is not uploaded, for a reason of its own.
    package func ownFault(of item: ItemID) -> ItemFault? { state.withLock { $0.faults.fault(of: item) } }

    /// How many deletions are held until the user confirms them.
    package var heldDeletionCount: Int { state.withLock { $0.heldDeletionCount } }

    /// The user has confirmed or discarded the held deletions.
    package func deletionsAreAnswered() {
        state.withLock { state in
            state.heldDeletionCount = 0
            state.answerCount += 1
        }
    }

    /// Why one of the items that the store, or the quota, had no room for is not uploaded.
    package var anyFault: ItemFault? { state.withLock { $0.faults.any } }

    /// Whether nothing is left that may be uploaded: the items in the outbox are held back.
    package var isIdle: Bool {
        let changes = activity.localChanges
        return state.withLock { $0.idleSince == changes }
    }

    /// Retries at once the items that the store, or the container's quota, had no room for; for the latter,
    /// reads the quota before.
    package func retry(_ item: ItemID?) {
        let isOverQuota = state.withLock { state in
            state.faults.retry(item)
            return state.faults.isOverQuota
        }
        if isOverQuota { session.containerGuard.rereadQuota() }
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
                session.containerGuard.invalidate()
                context.instruments.retries.upload.increment()
                setProblem("uploading failed, retrying: \((error as? FileError)?.detail ?? "\(error)")")
                let requested = (error as? StoreError)?.retryAfter ?? .zero
                await activity.waitForLocalChange(since: .max, atMost: max(pause, requested))
                pause = min(pause * 2, Self.retryLimit)
            }
        }
    }

    private func setProblem(_ sentence: String?) {
        let last = report.sentence
        report.set(sentence)
        if last != sentence { coordination.uploadFaultsChanged(nil) }
    }

    /// Waits until there was no change for a moment, so that changes in quick succession go into one commit.
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

    enum Progress: Equatable {
        case committed, deferred, nothing
        /// The remaining items wait for a while.
        case waiting(Duration)
    }

    /// One item of a batch, as it was read.
    struct Candidate {
        let pending: Pending
        var record: ItemRecord?
        var content: Content?
        var generation: Int64 = 0
        var inode: InodeNumber?
        /// Whether the bytes were read here; otherwise the record keeps the container's reference.
        var wasRead = false
        /// What becomes of its preview; `nil`: the container's stays as long as the bytes do.
        var preview: PreviewUpload?
        /// Whether only the new place is uploaded and the bytes follow: the item stays in the outbox.
        var isPlaceOnly = false
        /// Whether the bytes are those of a copy, since the file is being written: the item stays in the outbox.
        var isCopy = false
    }

    /// Uploads the head of the outbox as one commit, as far as nothing holds it back.
    func uploadBatch() async throws -> Progress {
        // Also while nothing is uploaded: a mass delete is recognised by the times of its deletions.
        var (exclusion, pause) = try judgeDeletions()
        if try replica.read({ try $0.isContainerPaused() }) { return .nothing }
        let now = environment.uptime()
        var changed: [ItemID] = []
        for (item, position) in state.withLock({ $0.faults.positions })
        where try !replica.read({ try $0.outbox.isPending(item, position: position) }) {
            changed.append(item)
        }
        changed += try itemsWithRoom()
        let faults = state.withLock { state in
            state.faults.forget(changed)
            return state.faults
        }
        if !changed.isEmpty { coordination.uploadFaultsChanged(changed) }
        exclusion.items = faults.waiting(at: now)
        pause = [pause, faults.pause(at: now)].compactMap(\.self).min()
        let pending = try replica.read { try $0.outbox.pending(limit: faults.batchLimit, after: 0, except: exclusion) }
        // Beyond a full batch there may be more of them.
        if pending.count < faults.batchLimit {
            let inodes = pending.compactMap { item -> InodeNumber? in
                guard case .put(let entry, _, _, _) = item.change else { return nil }
                return entry.inode
            }
            state.withLock { $0.busy.keep(Set(inodes)) }
        }
        guard !pending.isEmpty else { return pause.map { .waiting($0) } ?? .nothing }
        try await session.containerGuard.admitCommit()
        do {
            return try await upload(pending)
        } catch let error as StoreError where error.code == .full {
            let verdict = state.withLock { $0.faults.refused(pending, error, at: now) }
            coordination.uploadFaultsChanged(pending.map(\.item))
            switch verdict {
            case .again:
                logger.warning("the store is full; trying again later", metadata: ["error": "\(error)"])
                activity.noteProgress()
                return .committed
            case .pause:
                throw error
            }
        }
    }

    /// - Returns: Which deletions stay for now, and when to look again.
    private func judgeDeletions() throws(FileError) -> (PendingExclusion, Duration?) {
        let answers = state.withLock { $0.answerCount }
        let deletions = try replica.read {
            try $0.outbox.deletions(gap: DeletionHold.gap, ifMoreThan: DeletionHold.countLimit)
        }
        let decision = DeletionHold.decide(deletions, now: environment.now())
        let isHeld = decision == .hold
        if isHeld != deletions.areHeld {
            try replica.change { try $0.outbox.setDeletionsHeld(isHeld) }
            let noun = deletions.count == 1 ? "deletion" : "deletions"
            logger.warning("\(isHeld ? "holding" : "uploading") \(deletions.count) \(noun)")
        }
        state.withLock { state in
            guard state.answerCount == answers else { return }
            state.heldDeletionCount = isHeld ? deletions.count : 0
        }
        switch decision {
        case .go: return (PendingExclusion(), nil)
        case .wait(let pause): return (PendingExclusion(deletionsAfter: deletions.confirmed), pause)
        case .hold: return (PendingExclusion(deletionsAfter: deletions.confirmed), nil)
        }
    }

    private func upload(_ pending: [Pending]) async throws -> Progress {
        defer {
            let ended = state.withLock { state in
                defer { state.current = [:] }
                return state.current.keys.sorted()
            }
            if !ended.isEmpty { coordination.uploadsEnded(ended) }
        }

        return try await ContentUpload.run(
            replica: replica, store: store, environment: environment, window: state.withLock { $0.window },
            progressed: { [self] number, byteCount in state.withLock { $0.current[number]?.add(byteCount) } }
        ) { upload in
            defer { state.withLock { $0.window = upload.window } }
            return try await self.upload(pending, by: &upload)
        }
    }

    private func upload(_ pending: [Pending], by upload: inout ContentUpload) async throws -> Progress {
        var candidates: [Candidate] = []
        var byteCount: Int64 = 0
        var skipped = 0
        var quota = try quota(for: pending)
        var joins = false
        for item in pending {
            guard byteCount < Self.bytesPerCommit || joins else { break }
            joins = item.joinsNext
            guard var candidate = try await readOrSkip(item, into: &upload, within: &quota) else {
                skipped += 1
                continue
            }
            try takePreview(of: &candidate, into: &upload)
            byteCount += candidate.content == nil && candidate.inode != nil ? candidate.record?.size ?? 0 : 0
            candidates.append(candidate)
        }
        guard !candidates.isEmpty else { return .deferred }
        try await upload.finish()
        return try await commit(candidates, upload) ? .committed : (skipped > 0 ? .deferred : .committed)
    }
}
