package import FileSystem
package import Model
import Remote
package import Replica
import Sync

/// The states of items as people see them: what the index has, with what only this process knows.
package struct ItemStates: Sendable {
    private let fileSystem: FileSystem

    package init(_ fileSystem: FileSystem) { self.fileSystem = fileSystem }

    private var replica: Replica { fileSystem.replica }
    private var syncEngine: SyncEngine { fileSystem.syncEngine }
    private var files: MountFiles { fileSystem.files }
    private var downloads: Downloads { fileSystem.downloads }

    /// - Throws: ``FileError`` with `notFound`.
    package func itemStatus(_ path: String) throws(FileError) -> ItemStatus {
        guard let facts = try replica.read({ try $0.facts(at: path) }) else {
            try replica.checkTree()
            throw FileSystem.noSuchItem
        }
        return try status(of: facts)
    }

    /// - Throws: ``FileError`` with `superseded` for an inode without a name: it was replaced by one with newer bytes,
    ///   or removed. The kernel then looks the path up again.
    package func itemStatus(of number: InodeNumber) throws(FileError) -> ItemStatus {
        guard let facts = try replica.read({ try $0.facts(of: [number]).first }) else {
            throw FileError(.superseded, "\(number) no longer has a name")
        }
        return try status(of: facts)
    }

    /// The facts of a partly downloaded file, read again if no download of it is under way: one may have ended since,
    /// and the percentage would fall back to what was recorded last.
    private func afterDownload(_ facts: ItemFacts) throws(FileError) -> ItemFacts {
        let number = facts.attributes.inode
        guard facts.attributes.kind == .file, !facts.isLocal, facts.percentLocal > 0,
            downloads.active(number) == nil
        else { return facts }
        return try replica.read { try $0.facts(of: [number]) }.first { $0.path.isBytewiseEqual(to: facts.path) }
            ?? facts
    }

    /// The facts of a file that programs may have mapped, once the index has what they stored.
    private func afterStores(_ facts: ItemFacts) throws(FileError) -> ItemFacts {
        let number = facts.attributes.inode
        guard facts.attributes.kind == .file, files.isPossiblyMapped(number) else { return facts }
        try fileSystem.recordStores(into: number)
        return try replica.read({ try $0.facts(of: [number]) }).first { $0.path.isBytewiseEqual(to: facts.path) }
            ?? facts
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
        let download = downloadingStatus == .current ? nil : downloads.active(number)
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
        status.isDownloading = download?.isUnderWay == true
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
        status.hasPreview = facts.hasPreview ? true : nil
        status.displayName = entry?.name.string ?? syncEngine.container.identity.settings.name
        return status
    }

    private func current(_ facts: ItemFacts) throws(FileError) -> Attributes {
        let number = facts.attributes.inode
        guard facts.attributes.kind == .file, files.open.inode(number) != nil else { return facts.attributes }
        do throws(FileError) {
            return try fileSystem.current(of: number)
        } catch {
            // Removed since the facts were read.
            guard error.code == .notFound else { throw error }
            return facts.attributes
        }
    }
}
