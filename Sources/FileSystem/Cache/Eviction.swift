import Model
import Remote
import Replica
import Sync

/// The fourth flow: lets the bytes of files go that are safe in the container.
///
/// Refused, with nothing changed, while a file is open for writing or read by the kernel itself, has changes that are not uploaded, is
/// pinned, or is claimed by anybody. Before bytes go, the store is asked whether it still has them, and presenters whether they can do without.
struct Eviction {
    private let syncEngine: SyncEngine
    private let files: MountFiles
    private let access: SyncAccess
    private let events: ItemEvents
    private let downloads: Downloads
    /// The packs that the store was asked about, with their lengths: one question a pack, however many files share it.
    private var packs: [PackID: Int64] = [:]

    init(_ syncEngine: SyncEngine, files: MountFiles, access: SyncAccess, events: ItemEvents, downloads: Downloads) {
        self.syncEngine = syncEngine
        self.files = files
        self.access = access
        self.events = events
        self.downloads = downloads
    }

    private var replica: Replica { syncEngine.replica }

    /// What has come of files that are not whole yet.
    var byteCountUnderWay: Int64 { downloads.byteCountUnderWay }

    /// Evicts a file, or every file below a directory.
    ///
    /// - Throws: ``FileError`` with `busy` for what may not go. Of a directory, what may go is evicted first.
    mutating func evict(_ number: InodeNumber) async throws(FileError) {
        let inode = try replica.inode(number)
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
        for number in try replica.filesBelow(directory) {
            do throws(FileError) {
                try await evictFile(number, try replica.inode(number))
            } catch {
                switch error.code {
                // Unlinked in the meantime: gone is gone.
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
        let entries = try replica.entries(of: number)
        guard !entries.isEmpty else { throw FileError(.notFound, "\(number) has no name any more") }
        let name = entries[0].name
        await awaitRelease(of: number)
        switch try obstacle(number, inode, entries) {
        case nil: break
        // As if it had been done: what stays on this machine is nobody's to fetch again.
        case .local?: return
        case let obstacle?: throw obstacle.error(name)
        }
        if inode.isLocal, let content = inode.incoming ?? inode.content {
            // Before anything is given up: a refusal leaves all as it is, and newer bytes still on their way.
            try await verify(content, of: name)
        }
        let grant = try await access.toEvict(number)
        defer { grant.map(access.end) }
        // The wish first: a download that ends looks whether it is wanted again.
        if entries.contains(where: \.downloadRequested) {
            try replica.setDownloadRequested(false, of: number)
        }
        if let download = downloads.active(number) {
            download.cancel()
            try? await download.waitUntilSettled()
        }
        guard try replica.inode(number).isLocal else {
            try replica.discardDownload(of: number)
            return
        }
        do throws(FileError) {
            try evictBytes(number, generation: inode.generation, name)
        } catch {
            // Newer bytes that were on their way still are.
            if try replica.inode(number).incoming != nil { try downloads.want(number) }
            throw error
        }
        files.open.inode(number)?.evicted()
        files.kernel.inodeChanged(number, bytes: true)
        events.ubiquityAttributes(UbiquityKeys.downloading, of: number)
    }

    /// The kernel tells of a last close only after close(2) has returned: what is just being closed is given a moment.
    private func awaitRelease(of number: InodeNumber) async {
        for _ in 0..<Self.releaseAttempts {
            guard isReadByKernel(number) else { return }
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
                hasWriters: files.open.inode(number)?.hasWriters == true,
                isReadByKernel: isReadByKernel(number), isModified: inode.isModified,
                isQueued: entries.contains(where: \.isQueued), isPinned: try replica.isPinned(number),
                isSynced: !entries.allSatisfy { $0.item == nil }, isLocal: inode.isLocal,
                isContentKnown: inode.incoming != nil || inode.content != nil))
    }

    /// What keeps a file here that nobody asked to evict: also that somebody has it open, or that newer bytes of it are wanted.
    ///
    /// - Throws: ``FileError`` with `notFound` for one without a name.
    func obstacleUnasked(_ number: InodeNumber) throws(FileError) -> EvictionObstacle? {
        let inode = try replica.inode(number)
        let entries = try replica.entries(of: number)
        guard !entries.isEmpty else { throw FileError(.notFound, "\(number) has no name any more") }
        if let obstacle = try obstacle(number, inode, entries) { return obstacle }
        if files.open.inode(number) != nil { return .open }
        return inode.incoming != nil || entries.contains(where: \.downloadRequested) ? .downloading : nil
    }

    private func evictBytes(_ number: InodeNumber, generation: Int64, _ name: ItemName) throws(FileError) {
        if files.open.inode(number) != nil, try replica.inode(number).incoming != nil {
            // Whoever has it open keeps the older bytes, and whoever opens it next must get the newer ones: of one inode.
            throw FileError(.busy, "\(name) is open, and newer bytes of it are still to come")
        }
        // Opened while the store was asked.
        if isReadByKernel(number) { throw EvictionObstacle.open.error(name) }
        // Pinned while the store was asked: whoever did so was told that it is here.
        if try replica.isPinned(number) { throw EvictionObstacle.pinned.error(name) }
        try replica.evict(number, generation: generation)
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
