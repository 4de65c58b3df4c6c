import Coordination
package import Logging
package import Model
package import Remote
package import Replica
package import Sync
import Synchronization

/// What the mount asks: it is answered from the replica, and what the replica lacks is brought from the container.
///
/// The flows that begin here, and where they live; what goes on by itself is told at ``SyncEngine``:
///
///     read of a placeholder   FileSystem+Reading    → Downloads → Download
///     write                   FileSystem+Opening, FileSystem+Writing → LockManager
///     eviction                Eviction, and CacheEvictor by itself
///     locks                   FileSystem+Locks      → LockManager
///     coordinated access      FileSystem+Claims     → Claims → LockManager
package final class FileSystem: Sendable {
    package let syncEngine: SyncEngine
    let options: FileSystemOptions
    let files: MountFiles
    let locking: Locking
    let coordination: Coordination
    let reading: Reading
    let cache: Cache
    private let abilities = Mutex(MountAbilities())

    /// Who may write and rename when.
    struct Locking: Sendable {
        let manager: LockManager
        let places: ClaimPlaces
        let names: NameChanging
    }

    /// Who has claimed, presents or follows what.
    struct Coordination: Sendable {
        let claims: Claims
        let events: ItemEvents
        let access: SyncAccess
    }

    /// How bytes come that are not here.
    struct Reading: Sendable {
        let downloads: Downloads
        let rules: DownloadRules
        let throttle: DownloadThrottle
        let placeholders: PlaceholderWriter
    }

    /// What keeps room on the disk.
    struct Cache: Sendable {
        let evictor: CacheEvictor
        let freeSpaceFloor: FreeSpaceFloor
    }

    /// What the mount found out that the kernel lets it do.
    struct MountAbilities: Sendable {
        var passthrough = false
        /// Why fast paths that are wanted cannot be had.
        var unavailable: [FastPath: String] = [:]
    }

    /// Opens the replica below `location.state`, repairing it where the last run ended badly.
    ///
    /// - Throws: ``FileError`` with `busy` when another daemon uses the state, `invalid` when it belongs to another container.
    package convenience init(
        container: Container, location: DeviceLocation, options: FileSystemOptions, environment: EngineEnvironment,
        logger: Logger, owner: UInt32, group: UInt32
    ) throws(FileError) {
        let context = try SyncContext(
            identity: container.identity, location: location, environment: environment, logger: logger, owner: owner,
            group: group)
        self.init(context, container: container, options: options)
    }

    private init(_ context: SyncContext, container: Container, options: FileSystemOptions) {
        self.options = options
        let store = WatchedStore(container.store, patience: options.networkTimeout, environment: context.environment)
        let replica = context.replica
        let locking = Locking(context, options)
        self.locking = locking
        let open = OpenFiles()
        let orphans = Orphans()
        let kernelLink = KernelLink()
        let freeSpaceFloor = FreeSpaceFloor(path: context.location.state) { replica.shrinkLog() }
        let downloads = Downloads(
            context, store: store, openFiles: open, orphans: orphans, kernel: kernelLink,
            freeSpaceFloor: freeSpaceFloor, options: options)
        let evictor = CacheEvictor(context, limits: options.cacheLimits)
        cache = Cache(evictor: evictor, freeSpaceFloor: freeSpaceFloor)
        downloads.whenWoken { evictor.wake() }
        let rules = DownloadRules(programs: options.nonDownloadingPrograms)
        reading = Reading(
            downloads: downloads, rules: rules,
            throttle: DownloadThrottle(options: options, environment: context.environment, logger: context.logger),
            placeholders: PlaceholderWriter(replica: replica, logger: context.logger))
        files = MountFiles(context, open: open, orphans: orphans, kernelLink: kernelLink, downloads: downloads)
        let claims = Claims(
            context, lockManager: locking.manager, places: locking.places, downloadRules: rules,
            bytes: ClaimBytes(replica: replica, downloads: downloads, environment: context.environment))
        let events = ItemEvents(
            lockManager: locking.manager, claims: claims, places: locking.places, environment: context.environment)
        coordination = Coordination(
            claims: claims, events: events,
            access: SyncAccess(
                context, lockManager: locking.manager, claims: claims, events: events,
                patience: options.presenterTimeout))
        // Weak: who hears of events may ask for downloads, and neither must keep the engine's files open.
        downloads.whenArrived { [weak events] old, new in
            guard let events else { return }
            if events.hasObservers, old != new, let place = try? events.places.item(new) {
                events.superseded(old, by: place)
            }
            events.ubiquityAttributes(UbiquityKeys.downloading, of: new)
        }
        syncEngine = SyncEngine(
            context, identity: container.identity, store: store, local: files, coordination: coordination.access)
    }

    package var replica: Replica { syncEngine.context.replica }
    var environment: EngineEnvironment { syncEngine.context.environment }
    var logger: Logger { syncEngine.context.logger }
    var activity: Activity { syncEngine.context.activity }
    var location: DeviceLocation { syncEngine.context.location }

    /// The mount's, once it is there.
    package func attach(_ kernel: any KernelCache) { files.kernelLink.attach(kernel) }

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
            group.addTask { await self.reading.downloads.run() }
            group.addTask { await self.syncEngine.run() }
            group.addTask { await self.locking.manager.run() }
            group.addTask { await self.coordination.claims.run() }
            group.addTask { await self.coordination.access.run() }
            group.addTask { await self.reading.placeholders.run() }
            group.addTask { await self.cache.evictor.run(evicting: self.eviction) }
            group.addTask { await self.settleNowAndThen() }
            group.addTask { await self.forgetOldVersions() }
            group.addTask { await self.reading.downloads.retryNowAndThen() }
            group.addTask { await self.goOnWhenStoreReturns() }
            resumeDownloads()
        }
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
        for await _ in syncEngine.store.returns {
            logger.info("the store is reachable again")
            syncEngine.wakeUp()
            reading.downloads.retryFailed()
        }
    }

    private func resumeDownloads() {
        do throws(FileError) {
            for inode in try replica.requestedDownloads() where try !replica.isPaused(inode) {
                reading.downloads.request(inode)
            }
        } catch {
            logger.error("failed to resume requested downloads", metadata: ["error": "\(error)"])
        }
    }

    /// Ends orderly: what is written is recorded, and the state is marked clean.
    package func shutDown() throws(FileError) {
        for inode in files.open.openInodes { try recordBytes(of: inode) }
        do throws(FileError) {
            try cache.evictor.recordUses()
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

extension FileSystem.Locking {
    fileprivate init(_ context: SyncContext, _ options: FileSystemOptions) {
        places = ClaimPlaces(replica: context.replica)
        manager = LockManager(options: options, environment: context.environment, places: places)
        names = NameChanging(lockManager: manager, places: places)
    }
}
