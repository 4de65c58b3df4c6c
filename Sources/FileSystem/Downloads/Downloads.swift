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
    /// The most concurrent downloads of files that no reader waits for.
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

    /// Sets the callback for completed downloads; takes the file's inode before and after.
    func whenArrived(_ tell: @escaping @Sendable (InodeNumber, InodeNumber) -> Void) {
        state.withLock { $0.whenArrived = tell }
    }

    /// Sets the callback for downloads that begin or end.
    func whenWoken(_ tell: @escaping @Sendable () -> Void) { state.withLock { $0.whenWoken = tell } }

    func active(_ inode: InodeNumber) -> Download? { state.withLock { $0.active[inode] } }

    var activeCount: Int { state.withLock { $0.active.count } }

    /// The downloaded bytes of files that are not complete yet.
    var byteCountUnderWay: Int64 {
        // Files unlinked meanwhile do not count.
        state.withLock { Array($0.active.values) }.filter { (try? replica.isLocal($0.inode)) == false }
            .reduce(0) { $0 + $1.bytesDone }
    }

    /// The download of an inode that is not local: the one under way, or a new one.
    ///
    /// - Parameter wanted: The range wanted first.
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

    /// Queues a file for download: at most ``backgroundWidth`` at a time, first come, first served.
    ///
    /// Requests are recorded in the index, so the queue is no longer than the number of requested files.
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
            // The next download makes its own, and reports the error.
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
            // A failed or cancelled download is not joined: a new request is a new attempt.
            if let ending = active(inode), ending.hasFailed || ending.isCancelled { await ending.waitUntilEnded() }
            // It may have been downloaded, deleted or cancelled while it was queued.
            guard try isWanted(inode) else { return }
            if try isContentUnknown(inode) { try await learnContent(of: inode) }
            let download = try join(inode)
            try await download.wait(for: 0..<download.byteCount)
        } catch {
            logger.debug("a requested download ended", metadata: ["inode": "\(inode)", "error": "\(error)"])
        }
    }

    /// The pause before requested downloads are retried after the store lacked an object or did not answer; it doubles
    /// each time.
    static let retryStart = Duration.seconds(15)
    static let retryLimit = Duration.seconds(300)

    /// Periodically retries requested downloads that failed because of the store.
    ///
    /// Only one of them while the store is not known to answer, which is as good a test as all of them;
    /// ``retryFailed(atMost:)`` is called for the rest as soon as it answers.
    func retryNowAndThen() async {
        var pause = Self.retryStart
        // Cancelled: the engine shuts down, and requests stay recorded in the index.
        while (try? await environment.sleep(pause)) != nil {
            let isTried = retryFailed(atMost: store.isFailing ? 1 : .max)
            pause = isTried ? min(pause * 2, Self.retryLimit) : Self.retryStart
        }
    }

    /// Requeues requested downloads that failed because of the store.
    /// - Returns: Whether there were any.
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
            // On an error, no pack is read ahead.
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
        // Requested again while it was ending.
        case .cancelled: request(inode)
        // Another device published newer bytes in between: download those.
        case .failed(let error) where error.code == .superseded: request(inode)
        case .failed: return
        }
    }

    private func wake() { state.withLock { $0.whenWoken }() }

    /// Grace period: a process that just looked up the name may still use the inode of older bytes.
    private static let lingering = Duration.seconds(1)

    private func removeReplaced(_ replaced: InodeNumber) async {
        // Cancelled when the engine shuts down.
        try? await environment.sleep(Self.lingering)
        do throws(FileError) {
            if openFiles.inode(replaced) == nil, orphans.take(replaced) { try replica.forget(replaced) }
        } catch {
            logger.error("failed to remove replaced bytes", metadata: ["inode": "\(replaced)", "error": "\(error)"])
        }
    }

    /// Replaces the placeholder by the whole file.
    /// - Returns: The inode with the older bytes, which no longer has a name.
    private func install(_ download: Download) throws(FileError) -> InodeNumber? {
        let old = download.inode
        // Not synced here: until the whole disk is synced (`Replica.settle`), the bytes are not trusted after a power
        // failure anyway.
        let new = try replica.finishDownload(of: old)
        let tell = state.withLock { $0.whenArrived }
        defer { tell(old, new) }
        if new == old {
            openFiles.inode(old)?.arrived(download.staging)
            kernel.inodeChanged(old, bytes: false)
            return nil
        }
        // First, since a later step may fail, and the older bytes would stay forever.
        orphans.insert(old)
        for entry in try replica.entries(of: new) { kernel.entryChanged(entry.name, in: entry.parent) }
        return old
    }

    /// Records why a download failed, and logs it once: not again at each attempt that fails in the same way.
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
            // An inode unlinked during its download has nothing to record.
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
                // A cancellation withdraws earlier requests; one made since stands.
                try replica.saveProgress(of: download.inode, have: download.have)
            }
        } catch {
            // An inode unlinked during its download has nothing to record.
            guard error.code != .notFound else { return }
            logger.error(
                "failed to record a finished download",
                metadata: ["inode": "\(download.inode)", "error": "\(error)"])
        }
    }
}

extension ItemFault {
    /// The fault of a failed download, with Apple's error code (semantics section 5.3).
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
