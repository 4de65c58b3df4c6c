import Coordination
package import Logging
package import Model
package import Remote
package import Replica
import Synchronization

/// Where local and remote meet: what the mount asks is answered from the replica, and what the replica lacks is brought from the
/// container.
///
/// The five flows and where they live:
///
///     read of a placeholder   Engine+Reading    → Downloads → Download
///     write                   Engine+Opening, Engine+Writing → LockManager → Uploader
///     remote change           Follower          → LogSession → CommitApplier → CommitApplication → Reconcile
///     eviction                Eviction, and CacheEvictor by itself
///     locks                   Engine+Locks      → LockManager
///     coordinated access      Engine+Claims     → Claims → LockManager
package final class Engine: Sendable {
    package let replica: Replica
    let container: Container
    let environment: EngineEnvironment
    let options: EngineOptions
    let logger: Logger
    let openFiles = OpenFiles()
    let orphans = Orphans()
    let lockManager: LockManager
    let places: ClaimPlaces
    let claims: Claims
    let events: ItemEvents
    let names: NameChanging
    let syncAccess: SyncAccess
    let downloads: Downloads
    let downloadRules: DownloadRules
    let downloadThrottle: DownloadThrottle
    let cacheEvictor: CacheEvictor
    let session: LogSession
    let uploader: Uploader
    let follower: Follower
    let snapshots: Snapshots
    let garbageCollector: GarbageCollector
    let activity: Activity
    let placeholders: PlaceholderWriter
    let place: Location
    let freeSpaceFloor: FreeSpaceFloor
    let store: WatchedStore
    let containerGuard: ContainerGuard
    /// Whether nothing of the container was here when the engine began.
    private let isNew: Bool
    private let kernelBox: KernelBox
    private let abilities = Mutex(MountAbilities())

    /// Where things are, for people to read.
    package struct Location: Sendable {
        package var remote: String
        package var state: String
        package var mountpoint: String
        package var deviceName: String

        package init(remote: String, state: String, mountpoint: String, deviceName: String) {
            self.remote = remote
            self.state = state
            self.mountpoint = mountpoint
            self.deviceName = deviceName
        }
    }

    /// What the mount found out that the kernel lets it do.
    struct MountAbilities: Sendable {
        var passthrough = false
        /// Why fast paths that are wanted cannot be had.
        var unavailable: [FastPath: String] = [:]
    }

    /// Opens the replica below `place.state`, repairing it where the last run ended badly.
    ///
    /// - Throws: ``FileError`` with `busy` when another daemon uses the state, `invalid` when it belongs to another container.
    package init(
        container: Container, place: Location, options: EngineOptions, environment: EngineEnvironment, logger: Logger,
        owner: UInt32, group: UInt32
    ) throws(FileError) {
        let store = WatchedStore(container.store, patience: options.networkTimeout, environment: environment)
        self.store = store
        let container = Container(store: store, identity: container.identity)
        self.container = container
        self.place = place
        self.options = options
        self.environment = environment
        self.logger = logger
        let replica = try Replica.open(
            place.state, container: container.identity,
            environment: environment.replica(owner: owner, group: group))
        self.replica = replica
        isNew = replica.applied == 0
        for line in replica.repairReport.lines { logger.warning("repaired", metadata: ["what": "\(line)"]) }

        let freeSpaceFloor = FreeSpaceFloor(path: place.state) { [replica] in replica.shrinkLog() }
        self.freeSpaceFloor = freeSpaceFloor
        let kernelBox = KernelBox()
        self.kernelBox = kernelBox
        let activity = Activity(environment: environment)
        self.activity = activity
        let places = ClaimPlaces(replica: replica)
        self.places = places
        let lockManager = LockManager(options: options, environment: environment, places: places)
        self.lockManager = lockManager
        names = NameChanging(lockManager: lockManager, places: places)
        let containerGuard = ContainerGuard(
            replica: replica, container: container, location: place.remote, environment: environment)
        self.containerGuard = containerGuard
        let openFiles = openFiles
        let downloads = Downloads(
            replica: replica, openFiles: openFiles, orphans: orphans, store: store, environment: environment,
            options: options,
            logger: logger, freeSpaceFloor: freeSpaceFloor, kernel: { kernelBox.kernel })
        self.downloads = downloads
        let cacheEvictor = CacheEvictor(
            limits: options.cacheLimits, replica: replica, environment: environment, logger: logger, path: place.state)
        self.cacheEvictor = cacheEvictor
        downloads.whenWoken { cacheEvictor.wake() }
        let downloadRules = DownloadRules(programs: options.nonDownloadingPrograms)
        self.downloadRules = downloadRules
        downloadThrottle = DownloadThrottle(options: options, environment: environment, logger: logger)
        let bytes = ClaimBytes(replica: replica, downloads: downloads, environment: environment)
        let claims = Claims(
            lockManager: lockManager, places: places, downloadRules: downloadRules, environment: environment,
            logger: logger,
            isLocal: { items throws(FileError) in try bytes.areHere(items) },
            downloadItems: { items, progress in try await bytes.download(items, progress) })
        self.claims = claims
        let events = ItemEvents(lockManager: lockManager, claims: claims, places: places, environment: environment)
        self.events = events
        let syncAccess = SyncAccess(
            replica: replica, lockManager: lockManager, claims: claims, places: places, environment: environment,
            logger: logger, activity: activity, patience: options.presenterTimeout)
        self.syncAccess = syncAccess
        // Weak: who hears of events may ask for downloads, and neither must keep the engine's files open.
        downloads.whenArrived { [weak events] old, new in
            guard let events else { return }
            if events.hasObservers, old != new, let place = try? places.item(new) { events.superseded(old, by: place) }
            events.ubiquityAttributes(UbiquityKeys.downloading, of: new)
        }
        let applier = CommitApplier(
            replica: replica, openFiles: openFiles, orphans: orphans, environment: environment,
            deviceName: place.deviceName, logger: logger, kernel: { kernelBox.kernel }, activity: activity,
            events: events,
            requestDownload: { [replica, downloads, logger] inode in
                do throws(FileError) {
                    // While sync of it is paused the older bytes stay.
                    if try !replica.isPaused(inode) { downloads.request(inode) }
                } catch {
                    logger.error("failed to request a download", metadata: ["inode": "\(inode)", "error": "\(error)"])
                }
            })
        let snapshots = Snapshots(
            replica: replica, container: container, applier: applier, environment: environment, logger: logger,
            activity: activity)
        self.snapshots = snapshots
        let problem = SyncProblem(over: "remote changes are applied again", logger: logger, activity: activity)
        let preparation = RecordPreparation(
            replica: replica, openFiles: openFiles, store: store, environment: environment, logger: logger)
        let session = LogSession(
            store: store, containerGuard: containerGuard, applier: applier, snapshots: snapshots,
            preparation: preparation, syncAccess: syncAccess, problem: problem, environment: environment,
            deviceName: place.deviceName, logger: logger)
        self.session = session
        follower = Follower(
            session: session, store: store, problem: problem, environment: environment, activity: activity)
        garbageCollector = GarbageCollector(
            session: session, follower: follower, store: store, environment: environment, logger: logger)
        uploader = Uploader(
            session: session, openFiles: openFiles, store: store, syncAccess: syncAccess, events: events,
            environment: environment, logger: logger, activity: activity)
        placeholders = PlaceholderWriter(replica: replica, logger: logger)
    }

    /// The mount's, once it is there.
    var kernel: any KernelCache { kernelBox.kernel }

    package func attach(_ kernel: any KernelCache) { kernelBox.set(kernel) }

    /// From now on whole files are opened for pass-through.
    package func enablePassthrough() { abilities.withLock { $0.passthrough = true } }

    /// A fast path cannot be had on this mount, for a reason that people read; it is not tried again.
    package func unavailable(_ path: FastPath, because reason: String) {
        abilities.withLock { abilities in
            abilities.unavailable[path] = reason
            if path == .passthrough { abilities.passthrough = false }
        }
    }

    var mountAbilities: MountAbilities { abilities.withLock { $0 } }

    /// Runs what goes on in the background until cancelled: uploads, other devices' changes, downloads, deadlines of turns and claims.
    package func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.downloads.run() }
            group.addTask { await self.uploader.run() }
            group.addTask { await self.follower.run() }
            group.addTask { await self.snapshots.run() }
            group.addTask { await self.lockManager.run() }
            group.addTask { await self.claims.run() }
            group.addTask { await self.syncAccess.run() }
            group.addTask { await self.placeholders.run() }
            group.addTask { await self.cacheEvictor.run(evictingFrom: self) }
            group.addTask { await self.settleNowAndThen() }
            group.addTask { await self.forgetOldVersions() }
            group.addTask { await self.downloads.retryNowAndThen() }
            group.addTask { await self.goOnWhenStoreReturns() }
            resumeDownloads()
        }
    }

    /// Returns when a new device has the whole tree, when the time is over, or when the tree cannot come for now; at once on a device
    /// that had one before.
    ///
    /// - Returns: Whether the tree is there.
    package func waitForTree(atMost limit: Duration) async -> Bool {
        let end = environment.uptime() + limit
        while isNew, !follower.hasCaughtUp, follower.problem == nil {
            let rest = end - environment.uptime()
            guard rest > .zero, !Task.isCancelled else { return false }
            await activity.waitForProgress(atMost: min(rest, .seconds(1)))
        }
        return true
    }

    /// How often clean bytes are put on the disk for good.
    private static let settlePause = Duration.seconds(300)

    /// Makes downloads outlast a power failure, in quiet moments rather than one by one.
    private func settleNowAndThen() async {
        // Cancelled: the engine ends, and closing settles once more.
        while (try? await environment.sleep(Self.settlePause)) != nil {
            do throws(FileError) {
                try replica.settle()
            } catch {
                logger.warning(
                    "failed to sync downloads to disk; after a power failure they are downloaded again",
                    metadata: ["error": "\(error)"])
            }
        }
    }

    /// What waited for the store goes on as soon as anything has had an answer.
    private func goOnWhenStoreReturns() async {
        for await _ in store.returns {
            logger.info("the store is reachable again")
            activity.noteLocalChange()
            follower.wakeUp()
            downloads.retryFailed()
        }
    }

    private func resumeDownloads() {
        do throws(FileError) {
            for inode in try replica.requestedDownloads() where try !replica.isPaused(inode) {
                downloads.request(inode)
            }
        } catch {
            logger.error("failed to resume requested downloads", metadata: ["error": "\(error)"])
        }
    }

    /// Ends orderly: what is written is recorded, and the state is marked clean.
    package func shutDown() throws(FileError) {
        for inode in openFiles.openInodes { try recordBytes(of: inode) }
        do throws(FileError) {
            try cacheEvictor.recordUses()
        } catch {
            // Which files were used last is no reason to end in disorder.
            logger.warning("failed to record when files were last used", metadata: ["error": "\(error)"])
        }
        try replica.makeDurable()
        try replica.close()
    }

    /// Ends as a killed process does: nothing is finished or recorded, and nothing is answered any more.
    package func abandon() { replica.abandon() }
}

/// Holds the mount's side, which comes after the engine.
final class KernelBox: Sendable {
    private let box = Mutex<any KernelCache>(NoKernelCache())

    var kernel: any KernelCache { box.withLock { $0 } }

    func set(_ kernel: any KernelCache) { box.withLock { $0 = kernel } }
}
