import Coordination
package import Logging
package import Metering
package import Model
package import Remote
package import Replica
package import Sync
import Synchronization

/// The requests of the mount: answered from the replica; missing bytes are downloaded from the container.
///
/// The flows that begin here, and where they live; ``SyncEngine`` describes the background work:
///
///     read of a placeholder   FileSystem+Reading    → Downloads → Download
///     write                   FileSystem+Opening, FileSystem+Writing → ByteChanging → LockManager
///     eviction                Eviction, and CacheEvictor by itself
///     locks                   LockRequests          → LockManager
///     coordinated access      Claims                → LockManager
///     now and then            Upkeep
package final class FileSystem: Sendable {
    package let syncEngine: SyncEngine
    package let options: FileSystemOptions
    package let files: MountFiles
    let locking: Locking
    let coordination: CoordinatedAccess
    let reading: Reading
    let cache: Cache
    /// What is kept for the next daemon; `nil` where the mount ends with this one.
    package let slots: HandleSlots?
    let abilities = Mutex(MountAbilities())
    private let engineRuns = Atomic(false)

    /// The order of writes and renames.
    struct Locking: Sendable {
        let manager: LockManager
        let places: ItemResolver
        let names: NameChanging
    }

    /// Claims, presenters and followers.
    struct CoordinatedAccess: Sendable {
        let claims: Claims
        let events: ItemEvents
        let access: SyncAccess
        let followers: ItemFollowers
        let transfers: TransferEvents
    }

    /// Downloads of files that are not local.
    struct Reading: Sendable {
        let downloads: Downloads
        let rules: DownloadRules
        let throttle: DownloadThrottle
        let placeholders: PlaceholderWriter
    }

    /// Cache eviction.
    struct Cache: Sendable {
        let evictor: CacheEvictor
        let rules: RuleBook
        let freeSpaceFloor: FreeSpaceFloor
    }

    /// The kernel features that the mount found available.
    package struct MountAbilities: Sendable {
        package var passthrough = false
        /// Whether files may have been passed through, now or before.
        var hasPassedThrough = false
        /// Why requested fast paths are unavailable.
        package var unavailable: [FastPath: String] = [:]
        /// Whether the mount goes on when its daemon is killed; `nil` when it was not asked to.
        package var survival: ContainerStatus.Survival?
    }

    /// Opens the replica below `location.state`, repairing it after an unclean shutdown.
    ///
    /// - Parameter slots: What is kept for the next daemon, or was by the one before: then ``restore()`` follows. `nil` where
    ///   the mount ends with this one.
    /// - Throws: ``FileError`` with `busy` when another daemon uses the state, `invalid` when it belongs to another
    ///   container.
    package convenience init(
        container: Container, location: DeviceLocation, options: FileSystemOptions, environment: EngineEnvironment,
        logger: Logger, owner: UInt32, group: UInt32, metrics: MetricRegistry = MetricRegistry(),
        slots: HandleSlots? = nil
    ) throws(FileError) {
        let context = try SyncContext(
            identity: container.identity, location: location, environment: environment, logger: logger, owner: owner,
            group: group, ignoring: options.ignoredPatterns, metrics: metrics, storeRefusal: options.storeRefusal,
            busyUploadInterval: options.busyUploadInterval, heartbeat: options.heartbeat,
            previewsTree: options.previewsTree, isResumed: slots?.isAdopted ?? false)
        self.init(context, container: container, options: options, slots: slots)
    }

    private init(
        _ context: SyncContext, container: Container, options: FileSystemOptions, slots: HandleSlots?
    ) {
        self.options = options
        self.slots = slots
        let store = WatchedStore(container.store, patience: options.networkTimeout, context)
        let replica = context.replica
        let locking = Locking(context, options, slots)
        self.locking = locking
        let open = OpenFiles(slots: slots)
        let kernelLink = KernelLink()
        let orphans = Orphans(open: open, references: KernelReferences(), kernel: kernelLink) { inode in
            // One that is gone takes no space.
            (try? replica.look { try $0.attributes(of: inode) }).map { $0.blocks * 512 } ?? 0
        }
        let freeSpaceFloor = FreeSpaceFloor(path: context.location.state) { replica.shrinkLog() }
        let downloads = Downloads(
            context, store: store, openFiles: open, orphans: orphans, kernel: kernelLink,
            freeSpaceFloor: freeSpaceFloor, options: options)
        let ruleBook = RuleBook(context, options)
        let evictor = CacheEvictor(context, limits: options.cacheLimits, rules: ruleBook)
        cache = Cache(evictor: evictor, rules: ruleBook, freeSpaceFloor: freeSpaceFloor)
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
            lockManager: locking.manager, claims: claims, places: locking.places, environment: context.environment,
            kernel: kernelLink)
        let followers = ItemFollowers(replica: replica)
        let transfers = TransferEvents(
            downloads: downloads, events: events, followers: followers, environment: context.environment)
        coordination = CoordinatedAccess(
            claims: claims, events: events,
            access: SyncAccess(
                context, lockManager: locking.manager, claims: claims, events: events, followers: followers,
                transfers: transfers, patience: options.locks.claims.presenterTimeout),
            followers: followers, transfers: transfers)
        syncEngine = SyncEngine(
            context, identity: container.identity, store: store, local: files, coordination: coordination.access)
        freeSpaceFloor.attach { [weak self] byteCount in
            guard let self else { return false }
            return await cache.evictor.makeRoom(for: byteCount, on: cache.freeSpaceFloor, eviction())
        }
    }

    package var replica: Replica { syncEngine.context.replica }
    package var environment: EngineEnvironment { syncEngine.context.environment }
    package var logger: Logger { syncEngine.context.logger }
    package var activity: Activity { syncEngine.context.activity }
    package var location: DeviceLocation { syncEngine.context.location }
    package var instruments: Instruments { syncEngine.context.instruments }

    package var downloads: Downloads { reading.downloads }
    package var throttle: DownloadThrottle { reading.throttle }
    package var lockManager: LockManager { locking.manager }
    package var lockRequests: LockRequests {
        LockRequests(open: files.open, manager: lockManager, environment: environment)
    }
    package var claims: Claims { coordination.claims }
    package var events: ItemEvents { coordination.events }
    package var followers: ItemFollowers { coordination.followers }
    package var transfers: TransferEvents { coordination.transfers }

    package func cacheStatus() throws(FileError) -> CacheStatus { try cache.evictor.status() }

    /// Whether ``run()`` is at work.
    package var isRunning: Bool { engineRuns.load(ordering: .relaxed) }

    /// - Throws: ``FileError`` with `diskFull` when only the reserve for the index is left.
    package func admitChange() throws(FileError) { try cache.freeSpaceFloor.admitChange() }

    package func eviction() -> Eviction {
        Eviction(
            syncEngine, files: files, access: coordination.access, events: events, downloads: downloads)
    }

    /// Attaches the kernel cache of the mount.
    package func attach(_ kernel: any KernelCache) { files.kernelLink.attach(kernel) }

    /// Opens whole files for pass-through from now on, if changes through mappings can be seen.
    package func enablePassthrough() {
        guard MappedFiles.hasLeases(in: location.state) else {
            return unavailable(
                .passthrough,
                because: "the file system of the state has no leases; see fcntl(2), F_SETLEASE")
        }
        abilities.withLock { abilities in
            abilities.passthrough = true
            abilities.hasPassedThrough = true
        }
    }

    /// Records that a fast path is unavailable on this mount, with a reason for people; it is not tried again.
    package func unavailable(_ path: FastPath, because reason: String) {
        abilities.withLock { abilities in
            abilities.unavailable[path] = reason
            if path == .passthrough { abilities.passthrough = false }
        }
    }

    /// Records whether the mount goes on when its daemon is killed.
    package func note(_ survival: ContainerStatus.Survival) { abilities.withLock { $0.survival = survival } }

    package var mountAbilities: MountAbilities { abilities.withLock { $0 } }

    /// Runs the background work until cancelled: uploads, remote changes, downloads, deadlines of turns and claims.
    package func run() async {
        engineRuns.store(true, ordering: .relaxed)
        defer { engineRuns.store(false, ordering: .relaxed) }
        let upkeep = Upkeep(fileSystem: self)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.reading.downloads.run(publishing: self.received) }
            group.addTask { await self.syncEngine.run() }
            group.addTask { await self.locking.manager.run() }
            group.addTask { await self.coordination.claims.run() }
            group.addTask { await self.coordination.access.run() }
            group.addTask { await self.coordination.transfers.run { self.syncEngine.uploader.percents } }
            group.addTask { await self.reading.placeholders.run() }
            group.addTask { await self.cache.evictor.run(evicting: self.eviction) }
            group.addTask { await SmallDownloads(fileSystem: self, byteLimit: self.options.smallFileLimit).run() }
            group.addTask { await upkeep.commitBatches() }
            group.addTask { await upkeep.settle() }
            group.addTask { await upkeep.noticeMappedWrites() }
            group.addTask { await upkeep.syncUnlikeTemporary() }
            group.addTask { await upkeep.forgetOldVersions() }
            group.addTask { await upkeep.resumeWhenStoreReturns() }
            upkeep.resumeDownloads()
        }
    }

    private func received(_ event: DownloadEvent) {
        switch event {
        case .began(let inode):
            cache.evictor.wake()
            coordination.transfers.began(downloading: inode)
        case .ended(let inode, let isFinished):
            cache.evictor.wake()
            coordination.transfers.ended(downloading: inode, isFinished: isFinished)
            activity.noteProgress()
        case .arrived(let old, let new):
            let events = coordination.events
            if old != new { events.arrived(old, as: new) }
            events.ubiquityAttributes(UbiquityKeys.downloading, of: new)
        }
    }

    package func resolve(_ path: String) throws(FileError) -> InodeNumber {
        do throws(FileError) {
            return try replica.look { try $0.resolve(path) }
        } catch {
            guard error.code == .notFound else { throw error }
            try replica.checkTree()
            throw Self.noSuchItem
        }
    }

    package static let noSuchItem = FileError(.notFound, "no such item")

    /// The repairs made at startup, in sentences.
    package var repairs: [String] { replica.repairReport.lines }

    /// Shuts down cleanly: records what was written, and marks the state clean.
    package func shutDown() throws(FileError) {
        for inode in files.open.openInodes {
            try inode.noticeMappedWrites()
            try recordBytes(of: inode)
        }
        for number in files.mapped.numbers { try files.recordMappedBytes(of: number) }
        do throws(FileError) {
            try cache.evictor.recordUses()
        } catch {
            // Failing to record the last uses must not make the shutdown unclean.
            logger.warning(
                "failed to record when files were last used; evictions use the times recorded before",
                metadata: ["error": "\(error)"])
        }
        try replica.makeDurable()
        guard !files.mapped.numbers.contains(where: files.mapped.isMapped) else {
            // The next mount compares the files with the index, as after a crash.
            logger.notice("programs still have files mapped; the next mount checks these for changes")
            return replica.abandon()
        }
        try replica.close()
    }

    /// Stops as a killed process does: nothing is finished or recorded, and no request is answered any more.
    package func abandon() { replica.abandon() }
}

extension FileSystem.Locking {
    fileprivate init(_ context: SyncContext, _ options: FileSystemOptions, _ slots: HandleSlots?) {
        places = ItemResolver(replica: context.replica)
        manager = LockManager(options: options, environment: context.environment, places: places, slots: slots)
        names = NameChanging(lockManager: manager, places: places)
    }
}
