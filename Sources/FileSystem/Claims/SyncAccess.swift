import Coordination
import Logging
import Model
import Remote
import Replica
import Sync
import Synchronization

/// The sync engine as a client like any other: it reads, writes, deletes and evicts claimed or presented items only
/// after asking.
///
/// Without claims and presenters, it asks and waits for nothing.
final class SyncAccess: SyncCoordination {
    /// How long an eviction waits for presenters' permission before it is refused.
    static let evictionPatience = Duration.seconds(30)
    /// The pause before a refused upload is requested again.
    static let refusalPause = Duration.seconds(5)
    /// How long a remote commit waits before the reason is reported.
    static let silence = Duration.seconds(1)

    private enum Ask {
        case asking
        /// Presenters have saved: the file may be read once.
        case granted
        case refused(until: Duration)
    }

    private let uploads = Mutex<[InodeNumber: Ask]>([:])
    private let requests: AsyncStream<InodeNumber>
    private let request: AsyncStream<InodeNumber>.Continuation
    private let context: SyncContext
    private let lockManager: LockManager
    private let claims: Claims
    private let events: ItemEvents
    private let followers: ItemFollowers
    private let transfers: TransferEvents
    /// How long to wait for presenters: a hung one must not keep a file from being uploaded or remote changes from
    /// being applied.
    private let patience: Duration

    private var replica: Replica { context.replica }
    private var environment: EngineEnvironment { context.environment }
    private var logger: Logger { context.logger }
    private var places: ItemResolver { events.places }

    init(
        _ context: SyncContext, lockManager: LockManager, claims: Claims, events: ItemEvents, followers: ItemFollowers,
        transfers: TransferEvents, patience: Duration
    ) {
        self.context = context
        self.lockManager = lockManager
        self.claims = claims
        self.events = events
        self.followers = followers
        self.transfers = transfers
        self.patience = patience
        // One request for each file that waits to be uploaded, at most once each.
        (requests, request) = AsyncStream.makeStream(of: InodeNumber.self)
    }

    /// Requests permission for uploads until cancelled.
    func run() async {
        await withDiscardingTaskGroup { group in
            for await inode in requests { group.addTask { await self.askToUpload(inode) } }
        }
    }

    func end(_ access: ClaimSetID) { claims.release(own: access) }

    // MARK: Uploading

    /// Whether a file may be read for an upload now. If not, a claim is requested, and the uploader is woken when
    /// it may.
    ///
    /// The claim ends before the bytes are read: bytes changed meanwhile are not published, since their generation
    /// differs. That is the snapshot of `forUploading`, and no writer waits for a slow link.
    func mayUpload(_ inode: InodeNumber) throws(FileError) -> Bool {
        guard lockManager.hasClaimsOrPresenters else {
            uploads.withLock { $0 = [:] }
            return true
        }
        let item = try places.item(inode)
        guard lockManager.ask({ $0.hasClaimsOrPresenters(item) }) else { return true }
        let now = environment.uptime()
        let mustAsk = uploads.withLock { uploads -> Bool? in
            switch uploads[inode] {
            case .granted?:
                uploads[inode] = nil
                return nil
            case .asking?:
                return false
            case .refused(let until)? where now < until:
                return false
            case .refused?, nil:
                uploads[inode] = .asking
                return true
            }
        }
        guard let mustAsk else { return true }
        if mustAsk { request.yield(inode) }
        return false
    }

    private func askToUpload(_ inode: InodeNumber) async {
        var outcome = Ask.granted
        do throws(FileError) {
            let item = try places.item(inode)
            do throws(FileError) {
                end(try await claims.acquire([Claim(.read(.forUploading), item)], within: patience))
            } catch {
                if error.code != .timedOut || lockManager.ask({ $0.isKept(.read(.forUploading), off: item) }) {
                    throw error
                }
                logger.warning(
                    "a presenter did not save in time; uploading what is on disk", metadata: ["inode": "\(inode)"])
            }
        } catch {
            outcome = .refused(until: environment.uptime() + Self.refusalPause)
            logger.info("upload postponed", metadata: ["inode": "\(inode)", "why": "\(error)"])
        }
        let result = outcome
        uploads.withLock { $0[inode] = result }
        context.activity.noteLocalChange()
    }

    func uploadBegan(_ inode: InodeNumber) { transfers.began(uploading: inode) }

    func uploadsEnded(_ inodes: [InodeNumber]) { transfers.ended(uploading: inodes) }

    func uploadFaultsChanged(_ items: [ItemID]?) {
        guard let items else { return followers.changedQueued() }
        guard followers.hasFollowers || events.hasFollowers else { return }
        // An item that is gone has no state to tell.
        let inodes = (try? replica.look { rows in try items.compactMap { try rows.entry(of: $0)?.inode } }) ?? []
        followers.changed(inodes)
        for inode in inodes { events.transferred(UbiquityKeys.uploadingError, of: inode) }
    }

    func didUpload(_ inodes: [InodeNumber]) {
        followers.changed(inodes)
        guard events.hasObservers else { return }
        for inode in inodes { events.ubiquityAttributes(UbiquityKeys.uploading, of: inode) }
    }

    // MARK: Applying

    func events(of commit: Commit) throws(FileError) -> (any AppliedCommitEvents)? {
        try CommitEvents(commit, replica: replica, events: events)
    }

    /// Waits for permission to apply another device's commit: presenters of its items save first, or make way for a
    /// deletion.
    ///
    /// - Parameter report: Called with the reason once the wait takes long.
    /// - Returns: The grant, to be ended; `nil` when none is needed.
    func toApply(_ commit: Commit, report: @escaping @Sendable (String) -> Void) async throws(FileError) -> SyncGrant? {
        guard lockManager.hasClaimsOrPresenters, commit.device != replica.device else { return nil }
        let wanted = try claimsToApply(commit)
        guard let first = wanted.first.map({ places.path($0.item) }) else { return nil }
        async let _: Void = reportWait(for: first, report)
        do throws(FileError) {
            let set = try await acquire(wanted)
            return SyncGrant { [self] in end(set) }
        } catch {
            if error.code == .interrupted { throw error }
            // A presenter did not answer or could not save, and would do the same if asked again. Local edits are kept
            // as a conflict version.
            logger.warning(
                "applying a remote change although a presenter refused it", metadata: ["why": "\(error)"])
            return nil
        }
    }

    /// Reports a wait that takes long. Cancelled when the claim was granted in time.
    private func reportWait(for path: String, _ report: @Sendable (String) -> Void) async {
        guard (try? await environment.sleep(Self.silence)) != nil else { return }
        report(
            "remote changes are waiting for the program that has claimed or presents \(path); see: dewpoint locks")
    }

    func isHeldOff(_ commit: Commit) throws(FileError) -> Bool {
        guard lockManager.hasClaimsOrPresenters, commit.device != replica.device else { return false }
        let wanted = try claimsToApply(commit)
        return lockManager.ask { table in wanted.contains { table.isKept($0.kind, off: $0.item) } }
    }

    /// Waits as long as conflicting claims are held; for presenters, no longer than the patience.
    private func acquire(_ wanted: [Claim]) async throws(FileError) -> ClaimSetID {
        while true {
            do throws(FileError) {
                return try await claims.acquire(wanted, within: patience)
            } catch {
                let isHeld = lockManager.ask { table in wanted.contains { table.isKept($0.kind, off: $0.item) } }
                guard error.code == .timedOut, isHeld else { throw error }
            }
        }
    }

    /// - Returns: Claims of all items of the commit if some are claimed or presented: the others may be, too, by the
    ///   time at which those are granted. None otherwise.
    private func claimsToApply(_ commit: Commit) throws(FileError) -> [Claim] {
        var concerned: [Claim] = []
        var others: [Claim] = []
        func add(_ item: ClaimItem, _ option: WritingOption) throws(FileError) {
            let claim = Claim(.write(option), item)
            if lockManager.ask({ $0.hasClaimsOrPresenters(item) }) {
                concerned.append(claim)
            } else {
                others.append(claim)
            }
        }
        for tombstone in commit.tombstones {
            if let entry = try replica.look({ try $0.entry(of: tombstone.id) }) {
                try add(places.item(entry), .forDeleting)
            }
        }
        for record in commit.records {
            let entry = try replica.look { try $0.entry(of: record.id) }
            if let entry {
                if record.content != entry.base?.content || record.target != entry.base?.target {
                    try add(places.item(entry), .forMerging)
                } else if record.name != entry.name || record.parent != entry.base?.parent {
                    try add(places.item(entry), .forMoving)
                } else {
                    try add(places.item(entry), .contentIndependentMetadataOnly)
                }
            }
            // The item comes to a place that may be claimed, and what is there now makes room.
            guard let parent = try replica.look({ try $0.directory(of: record.parent) }),
                entry?.parent != parent || entry?.name != record.name
            else { continue }
            try add(places.item(record.name, in: parent), .forMoving)
        }
        return concerned.isEmpty ? [] : Array((concerned + others).prefix(ClaimLimits().claimsPerSet))
    }

    // MARK: Evicting

    /// Waits for permission to evict.
    ///
    /// - Returns: The value to pass to ``end(_:)``; `nil` when no permission is needed.
    /// - Throws: ``FileError`` with `busy` for an item that is claimed, or whose presenter does not permit it.
    func toEvict(_ inode: InodeNumber) async throws(FileError) -> ClaimSetID? {
        guard lockManager.hasClaimsOrPresenters else { return nil }
        let item = try places.item(inode)
        guard lockManager.ask({ $0.hasClaimsOrPresenters(item) }) else { return nil }
        do throws(FileError) {
            return try await claims.acquire(
                [Claim(.write(.forDeleting), item)], mode: .eviction, within: Self.evictionPatience)
        } catch {
            if error.code == .timedOut { throw FileError(.busy, "the program that presents the item does not answer") }
            throw error
        }
    }
}
