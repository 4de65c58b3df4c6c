import Logging
import Model
import Remote
import Replica
import Sync
import Synchronization

/// Every download that is under way: at most one for an inode.
///
/// Downloads run as children of ``run()``, so that they end with the engine.
final class Downloads: Sendable {
    /// How many files that nobody waits for are fetched at a time.
    static let backgroundWidth = 4

    private struct State {
        var active: [InodeNumber: Download] = [:]
        var whenArrived: @Sendable (InodeNumber, InodeNumber) -> Void = { _, _ in }
        var whenWoken: @Sendable () -> Void = {}
    }

    private let state = Mutex(State())
    private let starts: AsyncStream<Download>
    private let start: AsyncStream<Download>.Continuation
    private let requests: AsyncStream<InodeNumber>
    private let requested: AsyncStream<InodeNumber>.Continuation

    let replica: Replica
    private let openFiles: OpenFiles
    private let orphans: Orphans
    let packs: PackStore
    private let reader: ChunkReader
    private let readAhead: PackReadAhead
    let manifests: ManifestStore
    private let environment: EngineEnvironment
    private let options: FileSystemOptions
    private let logger: Logger
    private let freeSpaceFloor: FreeSpaceFloor
    private let kernel: any KernelCache
    private let store: WatchedStore

    init(
        _ context: SyncContext, store: WatchedStore, openFiles: OpenFiles, orphans: Orphans, kernel: any KernelCache,
        freeSpaceFloor: FreeSpaceFloor, options: FileSystemOptions
    ) {
        replica = context.replica
        environment = context.environment
        logger = context.logger
        self.openFiles = openFiles
        self.orphans = orphans
        packs = PackStore(store: store)
        readAhead = PackReadAhead(packs: packs)
        reader =
            options.off.contains(.packWindows)
            ? ChunkReader(packs: packs) : ChunkReader(windows: PackWindows(packs: packs), readAhead: readAhead)
        manifests = ManifestStore(store: store)
        self.options = options
        self.freeSpaceFloor = freeSpaceFloor
        self.kernel = kernel
        self.store = store
        (starts, start) = AsyncStream.makeStream(of: Download.self)
        (requests, requested) = AsyncStream.makeStream(of: InodeNumber.self)
    }

    /// Has somebody told of each file that has come: of its inode before and now.
    func whenArrived(_ tell: @escaping @Sendable (InodeNumber, InodeNumber) -> Void) {
        state.withLock { $0.whenArrived = tell }
    }

    /// Has somebody told of each download that begins or ends.
    func whenWoken(_ tell: @escaping @Sendable () -> Void) { state.withLock { $0.whenWoken = tell } }

    func active(_ inode: InodeNumber) -> Download? { state.withLock { $0.active[inode] } }

    var activeCount: Int { state.withLock { $0.active.count } }

    /// What has come of files that are not whole yet.
    var byteCountUnderWay: Int64 {
        // What was unlinked meanwhile does not count.
        state.withLock { Array($0.active.values) }.filter { (try? replica.isLocal($0.inode)) == false }
            .reduce(0) { $0 + $1.bytesDone }
    }

    /// The download of an inode whose bytes are not here: the one under way, or a new one.
    ///
    /// - Parameter wanted: What of the file is wanted first.
    func join(_ inode: InodeNumber, wanted: Range<Int64> = 0..<0) throws(FileError) -> Download {
        if let download = active(inode) { return download }
        let stagingFile = try replica.beginDownload(of: inode)
        let fresh = Download(
            inode: inode, content: stagingFile.content, staging: stagingFile.descriptor, have: stagingFile.have,
            wanted: wanted, takesHead: !options.off.contains(.fileHeads))
        let download = state.withLock { state in
            if let other = state.active[inode] { return other }
            state.active[inode] = fresh
            return fresh
        }
        if download === fresh {
            start.yield(fresh)
            wake()
        }
        return download
    }

    /// Has a file brought here when its turn comes: at most ``backgroundWidth`` at a time, first come first served.
    ///
    /// What waits is remembered in the index, so the queue is as long as there are requested files.
    func request(_ inode: InodeNumber) { requested.yield(inode) }

    /// Runs the downloads until cancelled.
    func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.runRequests() }
            group.addTask { [environment] in
                await self.readAhead.run(uptime: environment.uptime, sleep: environment.sleep)
            }
            prepareNext()
            for await download in starts {
                group.addTask { await self.run(download) }
                group.addTask { self.prepareNext() }
            }
        }
    }

    private func prepareNext() {
        do throws(FileError) { try replica.prepareDownload() } catch {
            // The next download makes its own, and says what is wrong with it.
            logger.debug("failed to prepare a staging file for the next download", metadata: ["error": "\(error)"])
        }
    }

    private func runRequests() async {
        await withTaskGroup(of: Void.self) { group in
            var running = 0
            for await inode in requests {
                if running == backgroundWidth {
                    await group.next()
                    running -= 1
                }
                running += 1
                group.addTask { await self.downloadRequestedBytes(inode) }
            }
        }
    }

    private var backgroundWidth: Int { options.off.contains(.parallelDownloads) ? 1 : Self.backgroundWidth }

    private func downloadRequestedBytes(_ inode: InodeNumber) async {
        do throws(FileError) {
            // One that has failed or was cancelled is not joined: whoever asks again wants another attempt.
            if let ending = active(inode), ending.hasFailed || ending.isCancelled { await ending.waitUntilEnded() }
            // It may have come, gone, or been cancelled while it stood in the queue.
            guard try isWanted(inode) else { return }
            if try isContentUnknown(inode) { try await learnContent(of: inode) }
            let download = try join(inode)
            try await download.wait(for: 0..<download.byteCount)
        } catch {
            logger.debug("a requested download ended", metadata: ["inode": "\(inode)", "error": "\(error)"])
        }
    }

    /// How long requested downloads wait that the store did not have or did not answer: each time twice as long.
    static let retryStart = Duration.seconds(15)
    static let retryLimit = Duration.seconds(300)

    /// Tries requested downloads again that failed for want of the store, for as long as the engine runs.
    ///
    /// One of them while the store is not known to answer, which tells as much as all of them; ``retryFailed(atMost:)`` is called for the rest
    /// as soon as it does.
    func retryNowAndThen() async {
        var pause = Self.retryStart
        // Cancelled: the engine ends, and what is requested is remembered in the index.
        while (try? await environment.sleep(pause)) != nil {
            let isTried = retryFailed(atMost: store.isFailing ? 1 : .max)
            pause = isTried ? min(pause * 2, Self.retryLimit) : Self.retryStart
        }
    }

    /// Puts what was asked for and failed for want of the store back in the queue.
    /// - Returns: Whether there was any.
    @discardableResult
    func retryFailed(atMost limit: Int = .max) -> Bool {
        do throws(FileError) {
            let failed = try replica.requestedDownloads(failedWith: [4353, 4355]).filter { active($0) == nil }
            failed.prefix(limit).forEach(request)
            return !failed.isEmpty
        } catch {
            logger.error("failed to retry requested downloads", metadata: ["error": "\(error)"])
            return false
        }
    }

    private func isWanted(_ number: InodeNumber) throws(FileError) -> Bool {
        let inode = try replica.inode(number)
        guard !inode.isLocal || inode.incoming != nil else { return false }
        return try replica.isDownloadRequested(number)
    }

    private func run(_ download: Download) async {
        let inode = download.inode
        let source = Download.Source(
            reader: reader, environment: environment, networkTimeout: options.networkTimeout,
            store: store, logger: logger, freeSpaceFloor: freeSpaceFloor, off: options.off,
            // Without an answer nothing is fetched ahead.
            nextPack: { [replica] pack in try? replica.nextPack(after: pack, from: inode) },
            save: { [replica] have throws(FileError) in try replica.saveProgress(of: inode, have: have) },
            failed: { [self] error in note(error, of: inode) })
        var outcome = await download.fetchAll(from: source) ?? .finished
        var replaced: InodeNumber?
        if outcome == .finished {
            do throws(FileError) {
                replaced = try install(download)
            } catch {
                outcome = .failed(error)
            }
        }
        remember(outcome, of: download)
        _ = state.withLock { $0.active.removeValue(forKey: inode) }
        download.conclude(outcome)
        wake()
        switch outcome {
        case .finished: if let replaced { await removeReplaced(replaced) }
        // Asked for again while it was ending.
        case .cancelled: request(inode)
        // Another device's newer bytes came in between: those are wanted now.
        case .failed(let error) where error.code == .superseded: request(inode)
        case .failed: return
        }
    }

    private func wake() { state.withLock { $0.whenWoken }() }

    /// How long the inode of older bytes stays when nobody has it open: who has just looked it up by name asks it something next.
    private static let lingering = Duration.seconds(1)

    private func removeReplaced(_ replaced: InodeNumber) async {
        // Cut short when the engine ends.
        try? await environment.sleep(Self.lingering)
        do throws(FileError) {
            if openFiles.inode(replaced) == nil, orphans.take(replaced) { try replica.forget(replaced) }
        } catch {
            logger.error("failed to remove replaced bytes", metadata: ["inode": "\(replaced)", "error": "\(error)"])
        }
    }

    /// Puts the whole file where the placeholder was.
    /// - Returns: The inode that had older bytes and has no name any more.
    private func install(_ download: Download) throws(FileError) -> InodeNumber? {
        let old = download.inode
        // Not synced here: until the whole disk was (`Replica.settle`), the bytes are not trusted after a power failure anyway.
        let new = try replica.finishDownload(of: old)
        let tell = state.withLock { $0.whenArrived }
        defer { tell(old, new) }
        if new == old {
            openFiles.inode(old)?.arrived(download.staging)
            kernel.inodeChanged(old, bytes: false)
            return nil
        }
        // First: what comes may fail, and the older bytes would stay for ever.
        orphans.insert(old)
        for entry in try replica.entries(of: new) { kernel.entryChanged(entry.name, in: entry.parent) }
        return old
    }

    /// Notes why a download failed, and says so once: not at each further attempt that ends in the same way.
    private func note(_ error: FileError, of inode: InodeNumber) {
        let fault = ItemFault(downloading: error)
        do throws(FileError) {
            let isNews = try replica.entries(of: inode).first?.error?.code != fault.code
            try replica.setError(fault, of: inode)
            guard isNews else { return }
            let path = try replica.path(of: inode)
            logger.log(
                level: error.code == .corrupt ? .error : .warning, "download failed",
                metadata: ["path": "\(path)", "error": "\(error)"])
        } catch {
            // An inode that was unlinked while it came down has nothing to remember.
            guard error.code != .notFound else { return }
            logger.error(
                "failed to record the error of a download", metadata: ["inode": "\(inode)", "error": "\(error)"])
        }
    }

    private func remember(_ outcome: Download.Outcome, of download: Download) {
        do throws(FileError) {
            switch outcome {
            case .finished:
                break
            case .failed(let error) where error.code == .superseded:
                logger.debug("restarting a download", metadata: ["inode": "\(download.inode)"])
            case .failed(let error):
                note(error, of: download.inode)
                try replica.saveProgress(of: download.inode, have: download.have)
            case .cancelled:
                // Whoever cancelled has withdrawn the wish; one that was made since stands.
                try replica.saveProgress(of: download.inode, have: download.have)
            }
        } catch {
            // An inode that was unlinked while it came down has nothing to remember.
            guard error.code != .notFound else { return }
            logger.error(
                "failed to record a finished download",
                metadata: ["inode": "\(download.inode)", "error": "\(error)"])
        }
    }
}

extension ItemFault {
    /// The fault of a failed download, in Apple's numbers (semantics section 5.3).
    init(downloading error: FileError) {
        let code =
            switch error.code {
            case .notInContainer: 4353
            case .diskFull: 640
            case .corrupt: 259
            default: 4355
            }
        self.init(code: code, text: error.description)
    }
}
