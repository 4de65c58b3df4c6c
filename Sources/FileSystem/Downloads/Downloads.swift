import Logging
import Metering
package import Model
package import Remote
import Replica
import Sync
import Synchronization

/// What happens to the downloads of a container.
enum DownloadEvent: Sendable {
    case began(InodeNumber)
    /// The bytes of a file are local. If older ones were, the file has another inode now.
    case arrived(was: InodeNumber, now: InodeNumber)
    case ended(InodeNumber, isFinished: Bool)
}

/// Every download that is under way: at most one for an inode.
///
/// Downloads run as children of ``run(publishing:)``, so that they end with the engine.
package final class Downloads: Sendable {
    private let running = Mutex<[InodeNumber: Download]>([:])
    private let starts: AsyncStream<Download>
    private let start: AsyncStream<Download>.Continuation
    let requests: AsyncStream<InodeNumber>
    let requested: AsyncStream<InodeNumber>.Continuation

    package let context: DownloadContext
    let manifests: ManifestStore
    package let packs: PackStore
    private let openFiles: OpenFiles
    private let orphans: Orphans
    private let readAhead: PackReadAhead
    private let kernel: any KernelCache

    init(
        _ context: SyncContext, store: WatchedStore, openFiles: OpenFiles, orphans: Orphans, kernel: any KernelCache,
        freeSpaceFloor: FreeSpaceFloor, options: FileSystemOptions
    ) {
        packs = PackStore(store: store)
        readAhead = PackReadAhead(packs: packs)
        manifests = ManifestStore(store: store)
        self.context = DownloadContext(
            reader: options.off.contains(.packWindows)
                ? ChunkReader(packs: packs) : ChunkReader(windows: PackWindows(packs: packs), readAhead: readAhead),
            store: store, replica: context.replica, freeSpaceFloor: freeSpaceFloor, environment: context.environment,
            retry: DownloadRetry(networkTimeout: options.networkTimeout), off: options.off, logger: context.logger,
            retries: context.instruments.retries.download)
        self.openFiles = openFiles
        self.orphans = orphans
        self.kernel = kernel
        (starts, start) = AsyncStream.makeStream(of: Download.self)
        (requests, requested) = AsyncStream.makeStream(of: InodeNumber.self)
    }

    var replica: Replica { context.replica }

    package func active(_ inode: InodeNumber) -> Download? { running.withLock { $0[inode] } }

    package var activeCount: Int { running.withLock { $0.count } }

    /// All that are under way, in no particular order.
    package var underWay: [Download] { running.withLock { Array($0.values) } }

    /// How far the downloads under way are: 0 to 100.
    var percents: [InodeNumber: Double] { running.withLock { $0 }.mapValues(\.percent) }

    /// The downloaded bytes of files that are not complete yet.
    var byteCountUnderWay: Int64 {
        // Files unlinked meanwhile do not count.
        running.withLock { Array($0.values) }.filter { download in
            (try? replica.look { try $0.isLocal(download.inode) }) == false
        }
        .reduce(0) { $0 + $1.bytesDone }
    }

    /// The download of an inode that is not local: the one under way, or a new one.
    ///
    /// - Parameters:
    ///   - wanted: The range wanted first.
    ///   - cause: Who causes a new one; `nil` when that was noted with the request.
    func join(
        _ inode: InodeNumber, wanted: Range<Int64> = 0..<0, because cause: @autoclosure () -> DownloadCause? = nil
    ) throws(FileError) -> Download {
        if let download = active(inode) { return download }
        let cause = cause()?.text
        let file = try replica.change { try $0.downloads.begin(of: inode, because: cause) }
        return startUnlessActive(Download(of: inode, into: file, wanted: wanted, context))
    }

    /// - Returns: The download of the same inode that is under way, or this one, which is started.
    func startUnlessActive(_ fresh: Download) -> Download {
        let download = running.withLock { running in
            if let other = running[fresh.inode] { return other }
            running[fresh.inode] = fresh
            return fresh
        }
        if download === fresh { start.yield(fresh) }
        return download
    }

    // MARK: Running

    /// Runs the downloads until cancelled.
    ///
    /// - Parameter publish: Receives their events: `arrived` before the readers are answered.
    func run(publishing publish: @escaping @Sendable (DownloadEvent) -> Void) async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.runRequests() }
            group.addTask { await self.runRounds() }
            group.addTask { [environment = context.environment] in
                await self.readAhead.run(uptime: environment.uptime, sleep: environment.sleep)
            }
            prepareNext()
            for await download in starts {
                publish(.began(download.inode))
                group.addTask { await self.run(download, publish) }
                group.addTask { self.prepareNext() }
            }
        }
    }

    private func prepareNext() {
        do throws(FileError) { try replica.prepareDownload() } catch {
            // The next download makes its own, and reports the error.
            context.logger.debug(
                "failed to prepare a staging file for the next download", metadata: ["error": "\(error)"])
        }
    }

    private func run(_ download: Download, _ publish: (DownloadEvent) -> Void) async {
        let inode = download.inode
        let refusal = refusal(of: download)
        var outcome = if let refusal { DownloadState.Outcome.failed(refusal) } else { await download.fetchAll() }
        var replaced: InodeNumber?
        if outcome == .finished {
            do throws(FileError) {
                replaced = try install(download, publish)
            } catch {
                outcome = .failed(error)
            }
        }
        context.recorder.record(outcome, of: inode, have: download.have)
        _ = running.withLock { $0.removeValue(forKey: inode) }
        download.conclude(outcome)
        publish(.ended(inode, isFinished: outcome == .finished))
        if DownloadRetry.isRepeatedAtOnce(outcome) { enqueue(inode) }
        if outcome == .finished, let replaced { await removeReplaced(replaced) }
    }

    /// Why a download must not write. Another download may have ended between the moment when this one got the same
    /// staging file and its start: the file is then in the user's tree, and may have been changed there.
    private func refusal(of download: Download) -> FileError? {
        do throws(FileError) {
            guard try replica.look({ try $0.isStaging(download.staging, of: download.inode) }) else {
                return FileError(.superseded, "another download of \(download.inode) has ended")
            }
            return nil
        } catch {
            return error
        }
    }

    /// Replaces the placeholder by the whole file.
    /// - Returns: The inode with the older bytes, which no longer has a name.
    private func install(_ download: Download, _ publish: (DownloadEvent) -> Void) throws(FileError) -> InodeNumber? {
        let old = download.inode
        // Older bytes that were changed in the meantime stay: the download has ended then.
        try replica.noticeBytes(of: old)
        // Not synced here: until the whole disk is synced (`Replica.settle`), the bytes are not trusted after a power
        // failure anyway.
        let new = try replica.change { try $0.downloads.finish(of: old) }
        defer { publish(.arrived(was: old, now: new)) }
        if new == old {
            openFiles.inode(old)?.arrived(download.staging)
            kernel.publish([.arrived(old)])
            return nil
        }
        // First, since a later step may fail, and the older bytes would stay forever.
        orphans.insert(old)
        kernel.publish(
            try replica.look { try $0.entries(of: new) }.map {
                .replaced(EntryName($0.name, in: $0.parent), old: old, new: new)
            })
        return old
    }

    /// Grace period: a process that just looked up the name may still use the inode of older bytes.
    private static let lingering = Duration.seconds(1)

    private func removeReplaced(_ replaced: InodeNumber) async {
        // Cancelled when the engine shuts down.
        try? await context.environment.sleep(Self.lingering)
        do throws(FileError) {
            if orphans.takeUnused(replaced) { try replica.change(freeing: true) { try $0.forget(replaced) } }
        } catch {
            context.logger.error(
                "failed to remove replaced bytes; the next mount removes them",
                metadata: ["inode": "\(replaced)", "error": "\(error)"])
        }
    }
}
