import CoreMetrics
import Metering
package import Model
import Remote
import Replica
import Sync

/// The fourth flow: evicts files whose bytes are safe in the container.
///
/// Refused, with nothing changed, while a file is open for writing or read by the kernel itself, has changes that are
/// not uploaded, is pinned, or is claimed. Before an eviction, the store is asked whether it still has the bytes, and
/// presenters whether they can do without them.
package struct Eviction {
    private let syncEngine: SyncEngine
    private let files: MountFiles
    private let access: SyncAccess
    private let events: ItemEvents
    private let downloads: Downloads
    /// The lengths of the packs that the store was asked about: one request a pack, however many files share it.
    private var packs: [PackID: Int64] = [:]

    init(_ syncEngine: SyncEngine, files: MountFiles, access: SyncAccess, events: ItemEvents, downloads: Downloads) {
        self.syncEngine = syncEngine
        self.files = files
        self.access = access
        self.events = events
        self.downloads = downloads
    }

    private var replica: Replica { syncEngine.replica }

    /// The downloaded bytes of files that are not complete yet.
    var byteCountUnderWay: Int64 { downloads.byteCountUnderWay }

    /// Evicts a file, or every file below a directory.
    ///
    /// - Throws: ``FileError`` with `busy` for a file that cannot be evicted. Of a directory, all other files are
    ///   evicted first.
    package mutating func evict(_ number: InodeNumber) async throws(FileError) {
        let inode = try replica.look { try $0.inode(number) }
        switch inode.attributes.kind {
        case .file:
            try await evictFile(number, inode)
        case .directory:
            try await evictDirectory(number)
        case .symbolicLink, .fifo, .socket, .characterDevice, .blockDevice:
            return
        }
    }

    private mutating func evictDirectory(_ directory: InodeNumber) async throws(FileError) {
        var refusal: FileError?
        for number in try replica.read({ try $0.filesBelow(directory) }) {
            do throws(FileError) {
                try await evictFile(number, try replica.look { try $0.inode(number) })
            } catch {
                switch error.code {
                // Unlinked in the meantime: there is nothing left to evict.
                case .notFound: continue
                case .busy: refusal = refusal ?? error
                default: throw error
                }
            }
            if Task.isCancelled { throw FileError(.interrupted, "the eviction was interrupted") }
        }
        if let refusal { throw refusal }
    }

    private mutating func evictFile(_ number: InodeNumber, _ inode: Inode) async throws(FileError) {
        let entries = try replica.look { try $0.entries(of: number) }
        guard !entries.isEmpty else { throw FileError(.notFound, "\(number) no longer has a name") }
        let name = entries[0].name
        await awaitRelease(of: number)
        try files.recordMappedBytes(of: number)
        switch try obstacle(number, inode, entries) {
        case nil: break
        // Treated as evicted: an item that stays on this machine cannot be downloaded again.
        case .local?: return
        case let obstacle?: throw obstacle.error(name)
        }
        if inode.isLocal, let content = try inode.newest {
            // Before any change: a refusal leaves the file as it is, with newer bytes still being downloaded.
            try await verify(content, of: name)
        }
        let grant = try await access.toEvict(number)
        defer { grant.map(access.end) }
        // Clear the request first: a download that ends checks whether it is still requested.
        if entries.contains(where: \.downloadRequested) {
            try replica.change { try $0.downloads.setRequested(false, of: number) }
        }
        if let download = downloads.active(number) {
            download.cancel()
            try? await download.waitUntilSettled()
        }
        guard try replica.look({ try $0.inode(number).isLocal }) else {
            try replica.change(freeing: true) { try $0.downloads.discard(of: number) }
            return
        }
        do throws(FileError) {
            try evictBytes(number, generation: inode.generation, name)
        } catch {
            // Resume the download of newer bytes.
            if try replica.look({ try $0.inode(number).hasIncoming }) { try downloads.request(number, because: nil) }
            throw error
        }
        let metrics = syncEngine.context.instruments.registry
        metrics.counter(.evictions).increment()
        metrics.counter(.evictedBytes).increment(by: inode.attributes.size)
        files.open.inode(number)?.evicted()
        files.kernel.publish([.inodeChanged(number, bytes: true), .attributesChanged(number)])
        events.ubiquityAttributes(UbiquityKeys.downloading, of: number)
    }

    /// The kernel sends the release only after close(2) has returned: a file that is just being closed gets a grace
    /// period.
    private func awaitRelease(of number: InodeNumber) async {
        for _ in 0..<Self.releaseAttempts {
            guard isReadByKernel(number) || files.isOpenForWriting(number) else { return }
            guard (try? await syncEngine.context.environment.sleep(Self.releasePause)) != nil else { return }
        }
    }

    private static let releaseAttempts = 5
    private static let releasePause = Duration.milliseconds(10)

    private func isReadByKernel(_ number: InodeNumber) -> Bool {
        files.open.inode(number)?.access == .passthrough
    }

    private func obstacle(
        _ number: InodeNumber, _ inode: Inode, _ entries: [Entry]
    ) throws(FileError) -> EvictionObstacle? {
        EvictionObstacle(
            EvictionObstacle.Facts(
                hasWriters: files.isOpenForWriting(number),
                isReadByKernel: isReadByKernel(number), isModified: inode.isModified,
                isQueued: entries.contains(where: \.isQueued), isPinned: try replica.look { try $0.isPinned(number) },
                isSynced: !entries.allSatisfy { $0.item == nil }, isLocal: inode.isLocal,
                isContentKnown: inode.hasIncoming || inode.hasContent))
    }

    /// The obstacle to an automatic eviction; besides those of a requested one, an open file and newer bytes being
    /// downloaded.
    ///
    /// - Throws: ``FileError`` with `notFound` for a file without a name.
    func obstacleUnasked(_ number: InodeNumber) throws(FileError) -> EvictionObstacle? {
        try files.recordMappedBytes(of: number)
        let (inode, entries) = try replica.look { (try $0.inode(number), try $0.entries(of: number)) }
        guard !entries.isEmpty else { throw FileError(.notFound, "\(number) no longer has a name") }
        if let obstacle = try obstacle(number, inode, entries) { return obstacle }
        if files.open.inode(number) != nil { return .open }
        return inode.hasIncoming || entries.contains(where: \.downloadRequested) ? .downloading : nil
    }

    private func evictBytes(_ number: InodeNumber, generation: Int64, _ name: ItemName) throws(FileError) {
        if files.open.inode(number) != nil, try replica.look({ try $0.inode(number).hasIncoming }) {
            // Open handles must keep the older bytes while new ones must get the newer bytes: one inode cannot have
            // both.
            throw FileError(.busy, "\(name) is open, and newer bytes of it are not downloaded yet")
        }
        // Opened while waiting for the store's answer.
        if isReadByKernel(number) || files.mapped.isMapped(number) { throw EvictionObstacle.open.error(name) }
        // Changed while waiting for the store's answer, through a mapping that has ended.
        try replica.noticeBytes(of: number)
        // Pinned while waiting for the store's answer: the caller was told that the file is local.
        if try replica.look({ try $0.isPinned(number) }) { throw EvictionObstacle.pinned.error(name) }
        try replica.change(freeing: true) { try $0.evict(number, generation: generation) }
    }

    /// Asks the store whether it still has every byte.
    private mutating func verify(_ content: Content, of name: ItemName) async throws(FileError) {
        for run in content.runs {
            guard case .stored(let pack, let offset, _) = run else { continue }
            let end = offset + run.byteCount
            let byteCount: Int64
            if let known = packs[pack] {
                byteCount = known
            } else {
                do throws(StoreError) {
                    byteCount = try await downloads.packs.byteCount(of: pack)
                } catch {
                    if error.code == .notFound {
                        throw EvictionObstacle.lost.error(name)
                    }
                    if error.code == .cancelled { throw FileError(.interrupted, "the eviction was interrupted") }
                    throw error.fileError
                }
                packs[pack] = byteCount
            }
            guard byteCount >= end else {
                throw EvictionObstacle.lost.error(name)
            }
        }
    }
}
