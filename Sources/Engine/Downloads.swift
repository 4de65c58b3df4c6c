import Logging
import Model
import Remote
import Replica
import Synchronization

/// Every download that is under way: at most one for an inode.
///
/// Downloads run as children of ``run()``, so that they end with the engine.
final class Downloads: Sendable {
    /// How many files that nobody waits for are fetched at a time.
    static let backgroundWidth = 4

    private struct State {
        var active: [InodeNumber: Download] = [:]
    }

    private let state = Mutex(State())
    private let starts: AsyncStream<Download>
    private let start: AsyncStream<Download>.Continuation
    private let requests: AsyncStream<InodeNumber>
    private let requested: AsyncStream<InodeNumber>.Continuation

    private let replica: Replica
    private let openFiles: OpenFiles
    private let orphans: Orphans
    private let reader: ChunkReader
    private let manifests: ManifestStore
    private let environment: EngineEnvironment
    private let options: EngineOptions
    private let logger: Logger
    private let freeSpaceFloor: FreeSpaceFloor
    private let kernel: @Sendable () -> any KernelCache

    init(
        replica: Replica, openFiles: OpenFiles, orphans: Orphans, store: any ObjectStore,
        environment: EngineEnvironment,
        options: EngineOptions, logger: Logger, freeSpaceFloor: FreeSpaceFloor,
        kernel: @escaping @Sendable () -> any KernelCache
    ) {
        self.replica = replica
        self.openFiles = openFiles
        self.orphans = orphans
        reader = ChunkReader(store: store)
        manifests = ManifestStore(store: store)
        self.environment = environment
        self.options = options
        self.logger = logger
        self.freeSpaceFloor = freeSpaceFloor
        self.kernel = kernel
        (starts, start) = AsyncStream.makeStream(of: Download.self)
        (requests, requested) = AsyncStream.makeStream(of: InodeNumber.self)
    }

    func active(_ inode: InodeNumber) -> Download? { state.withLock { $0.active[inode] } }

    var activeCount: Int { state.withLock { $0.active.count } }

    /// The download of an inode whose bytes are not here: the one under way, or a new one.
    func join(_ inode: InodeNumber) throws(FileError) -> Download {
        if let download = active(inode) { return download }
        let stagingFile = try replica.beginDownload(of: inode)
        let fresh = Download(
            inode: inode, content: stagingFile.content, staging: stagingFile.descriptor, have: stagingFile.have)
        let download = state.withLock { state in
            if let other = state.active[inode] { return other }
            state.active[inode] = fresh
            return fresh
        }
        if download === fresh { start.yield(fresh) }
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
            for await download in starts {
                group.addTask { await self.run(download) }
            }
        }
    }

    private func runRequests() async {
        await withTaskGroup(of: Void.self) { group in
            var running = 0
            for await inode in requests {
                if running == Self.backgroundWidth {
                    await group.next()
                    running -= 1
                }
                running += 1
                group.addTask { await self.bringRequested(inode) }
            }
        }
    }

    private func bringRequested(_ inode: InodeNumber) async {
        do throws(FileError) {
            // It may have come, gone, or been cancelled while it stood in the queue.
            guard try isWanted(inode) else { return }
            let download = try join(inode)
            try await download.wait(for: 0..<download.byteCount)
        } catch {
            logger.debug("a requested download ended", metadata: ["inode": "\(inode)", "error": "\(error)"])
        }
    }

    private func isWanted(_ number: InodeNumber) throws(FileError) -> Bool {
        let inode = try replica.inode(number)
        guard !inode.isHere || inode.incoming != nil else { return false }
        return try replica.entries(of: number).contains { $0.downloadRequested }
    }

    private func run(_ download: Download) async {
        let inode = download.inode
        let source = Download.Source(
            reader: reader, environment: environment, networkTimeout: options.networkTimeout,
            logger: logger, freeSpaceFloor: freeSpaceFloor,
            save: { [replica] have throws(FileError) in try replica.saveProgress(of: inode, have: have) },
            progressed: {})
        var outcome = await download.fetchAll(from: source) ?? .finished
        if outcome == .finished {
            do throws(FileError) {
                try install(download)
            } catch {
                outcome = .failed(error)
            }
        }
        remember(outcome, of: download)
        _ = state.withLock { $0.active.removeValue(forKey: inode) }
        download.settle(outcome)
        // Another device's newer bytes came in between: those are wanted now.
        if case .failed(let error) = outcome, error.code == .superseded { request(inode) }
    }

    /// Puts the whole file where the placeholder was.
    private func install(_ download: Download) throws(FileError) {
        let old = download.inode
        let entries = try replica.entries(of: old)
        try download.staging.synchronize()
        let new = try replica.finishDownload(of: old)
        if new == old {
            openFiles.inode(old)?.arrived(download.staging)
            kernel().inodeChanged(old, bytes: false)
        } else {
            for entry in entries { kernel().entryChanged(entry.name, in: entry.parent) }
            orphans.insert(old)
            if openFiles.inode(old) == nil, orphans.take(old) { try replica.forget(old) }
        }
    }

    private func remember(_ outcome: Download.Outcome, of download: Download) {
        do throws(FileError) {
            switch outcome {
            case .finished:
                try replica.setError(nil, of: download.inode)
            case .failed(let error) where error.code == .superseded:
                logger.debug("a download begins anew", metadata: ["inode": "\(download.inode)"])
            case .failed(let error):
                let path = try replica.path(of: download.inode)
                logger.error("download failed", metadata: ["path": "\(path)", "error": "\(error)"])
                try replica.saveProgress(of: download.inode, have: download.have)
                try replica.setError(ItemFault(downloading: error), of: download.inode)
            case .cancelled:
                try replica.saveProgress(of: download.inode, have: download.have)
                try replica.setDownloadRequested(false, of: download.inode)
            }
        } catch {
            // An inode that was unlinked while it came down has nothing to remember.
            guard error.code != .notFound else { return }
            logger.error(
                "the index did not take the end of a download",
                metadata: ["inode": "\(download.inode)", "error": "\(error)"])
        }
    }
}

extension ItemFault {
    /// The fault of a failed download, in Apple's numbers (semantics section 5.3).
    init(downloading error: FileError) {
        let code =
            switch error.code {
            case .wouldBlock: 4353
            case .diskFull: 640
            case .corrupt: 259
            default: 4355
            }
        self.init(code: code, text: error.description)
    }
}
