import Coordination
import Foundation
package import Model
import Remote
package import Replica
import Sync

/// Operations for the control API and the control attributes.
extension FileSystem {
    // MARK: Status

    /// - Throws: ``FileError`` with `notFound`.
    package func itemStatus(_ path: String) throws(FileError) -> ItemStatus {
        guard let facts = try replica.facts(at: path) else { throw Self.noSuchItem }
        return try status(of: facts)
    }

    package static let noSuchItem = FileError(.notFound, "no such item")

    package func resolve(_ path: String) throws(FileError) -> InodeNumber {
        do throws(FileError) {
            return try replica.resolve(path)
        } catch {
            guard error.code == .notFound else { throw error }
            throw Self.noSuchItem
        }
    }

    /// The repairs made at startup, in sentences.
    package var repairs: [String] { replica.repairReport.lines }

    /// - Throws: ``FileError`` with `superseded` for an inode without a name: it was replaced by one with newer bytes,
    ///   or removed. The kernel then looks the path up again.
    func itemStatus(of number: InodeNumber) throws(FileError) -> ItemStatus {
        guard let facts = try replica.facts(of: [number]).first else {
            throw FileError(.superseded, "\(number) no longer has a name")
        }
        return try status(of: facts)
    }

    /// The facts of a partly downloaded file, read again if no download of it is under way: one may have ended since,
    /// and the percentage would fall back to what was recorded last.
    private func afterDownload(_ facts: ItemFacts) throws(FileError) -> ItemFacts {
        let number = facts.attributes.inode
        guard facts.attributes.kind == .file, !facts.isLocal, facts.percentLocal > 0,
            reading.downloads.active(number) == nil
        else { return facts }
        return try replica.facts(of: [number]).first { $0.path.isBytewiseEqual(to: facts.path) } ?? facts
    }

    /// The facts of a file that programs may have mapped, once the index has what they stored.
    private func afterStores(_ facts: ItemFacts) throws(FileError) -> ItemFacts {
        let number = facts.attributes.inode
        guard facts.attributes.kind == .file, files.isPossiblyMapped(number) else { return facts }
        try recordStores(into: number)
        return try replica.facts(of: [number]).first { $0.path.isBytewiseEqual(to: facts.path) } ?? facts
    }

    /// The status of an item as the index has it, with what only this process knows: its transfers, and writes that are
    /// not recorded yet.
    package func status(of known: ItemFacts) throws(FileError) -> ItemStatus {
        let facts = try afterDownload(try afterStores(known))
        let number = facts.attributes.inode
        let entry = facts.entry
        let isFile = facts.attributes.kind == .file
        let downloadingStatus: DownloadingStatus =
            !isFile ? .current : !facts.isLocal ? .notDownloaded : facts.hasIncoming ? .downloaded : .current
        // A download may still be finishing when all bytes are local.
        let download = downloadingStatus == .current ? nil : reading.downloads.active(number)
        let isPending = entry?.isQueued ?? false || facts.isModified
        // As far as this device knows, the device that made the change has not uploaded it.
        let isElsewhere = downloadingStatus == .notDownloaded && entry?.error?.code == 4353
        let uploading = isFile ? syncEngine.uploader.percent(of: number) : nil
        let isSynced = number == .root || entry?.item != nil
        let attributes = try current(facts)
        var status = ItemStatus(path: facts.path, kind: facts.attributes.kind)
        status.item = number == .root ? .root : entry?.item
        status.logicalSize = attributes.size
        status.downloadingStatus = downloadingStatus
        status.percentDownloaded =
            download.map { min($0.percent, 99) } ?? (downloadingStatus == .notDownloaded ? facts.percentLocal : 100)
        status.percentUploaded = isPending ? min(uploading ?? 0, 99) : isElsewhere ? 0 : 100
        status.isDownloading = download != nil && download?.outcome == nil
        status.downloadRequested = entry?.downloadRequested ?? false
        status.isUploaded = isSynced && !isPending && !isElsewhere
        status.isUploading = uploading != nil
        status.pinned = facts.isPinned
        status.isUbiquitousItem = isSynced
        status.lastEditor = entry?.base?.device.description
        status.etag = entry.flatMap { $0.baseNumber > 0 ? "\($0.item?.description ?? "")-\($0.baseNumber)" : nil }
        status.conflictCount = entry?.conflicts.count ?? 0
        status.isSyncPaused = facts.isPaused
        status.isExcludedFromSync = facts.isExcluded
        status.downloadingError = entry?.error
        status.uploadingError = isPending && isSynced ? syncEngine.uploader.fault(of: entry?.item) : nil
        // Containers have no creation times: the earliest that is known.
        status.created =
            ([attributes.modified, entry?.base?.modified, facts.firstModified].compactMap(\.self).min()
            ?? attributes.modified).rfc3339
        status.modified = attributes.modified.rfc3339
        status.contentType = ContentType.identifier(kind: facts.attributes.kind, name: entry?.name)
        status.displayName = entry?.name.string ?? syncEngine.container.identity.settings.name
        return status
    }

    private func current(_ facts: ItemFacts) throws(FileError) -> Attributes {
        let number = facts.attributes.inode
        guard facts.attributes.kind == .file, files.open.inode(number) != nil else { return facts.attributes }
        do throws(FileError) {
            return try current(of: number)
        } catch {
            // Removed since the facts were read.
            guard error.code == .notFound else { throw error }
            return facts.attributes
        }
    }

    // MARK: Downloading

    /// Requests the download of a file, or of every file below a directory; returns at once.
    package func request(_ number: InodeNumber, because cause: DownloadCause) throws(FileError) {
        try forEachFile(below: number) { file throws(FileError) in
            try reading.downloads.request(file, because: cause)
        }
    }

    package func cancelDownload(_ number: InodeNumber) throws(FileError) {
        try forEachFile(below: number) { file throws(FileError) in
            if try replica.isDownloadRequested(file) {
                try replica.setDownloadRequested(false, of: file)
            }
            reading.downloads.active(file)?.cancel()
        }
    }

    /// Downloads a file, or every file below a directory, and waits until all are local.
    package func download(_ number: InodeNumber, because cause: DownloadCause) async throws(FileError) {
        try request(number, because: cause)
        var files: [InodeNumber] = []
        try forEachFile(below: number) { files.append($0) }
        for file in files {
            if Task.isCancelled { throw FileError(.interrupted, "the wait for the download was interrupted") }
            do throws(FileError) {
                try await reading.downloads.makeLocal(file)
            } catch {
                // A file below a directory was unlinked in the meantime: not a failure of the others.
                if error.code == .notFound, file != number { continue }
                throw error
            }
        }
    }

    /// Calls `body` for a file itself, or for each file below a directory.
    package func forEachFile(
        below number: InodeNumber, _ body: (InodeNumber) throws(FileError) -> Void
    ) throws(FileError) {
        guard try replica.attributes(of: number).kind == .directory else {
            if try replica.attributes(of: number).kind == .file { try body(number) }
            return
        }
        for file in try replica.filesBelow(number) { try body(file) }
    }

    // MARK: Evicting and pinning

    package func eviction() -> Eviction {
        Eviction(
            syncEngine, files: files, access: coordination.access, events: coordination.events,
            downloads: reading.downloads)
    }

    /// Pinned items are downloaded and stay local; pinning a directory includes its contents.
    package func setPinned(_ number: InodeNumber, _ isPinned: Bool) throws(FileError) {
        try replica.setPinned(isPinned, of: number)
        coordination.events.transferred(UbiquityKeys.pinned, of: number)
        if isPinned { try request(number, because: .pinned) }
    }

    // MARK: Locks

    /// - Parameter number: Only those on this inode; `nil` for all.
    package func locks(on number: InodeNumber? = nil) throws(FileError) -> [LockListing] {
        let now = locking.manager.now
        let (all, deadlocked) = locking.manager.ask { ($0.snapshot(now: now), $0.deadlockedSets) }
        let nodes = all.filter { number == nil || $0.inode == number }
        // In one read: many in a deep tree have most of their directories in common.
        let paths = try replica.paths(of: nodes.map(\.inode))
        return nodes.map { node in
            // A file without a name is listed too.
            var listing = node.listing(path: paths[node.inode]?.string ?? "") {
                ProcessTable.command(of: $0.rawValue)
            } namespace: {
                ProcessTable.otherNamespace(of: $0.rawValue)
            }
            for index in listing.waiters.indices {
                guard let claim = listing.waiters[index].claim, deadlocked.contains(ClaimSetID(claim)) else { continue }
                listing.waiters[index].isDeadlocked = true
            }
            return listing
        }
    }
}
