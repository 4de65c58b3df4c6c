package import ControlAPI
import FileSystem
package import Model
import Replica

extension ItemStatusRequest: PerformedQuestion {
    package func perform(in daemon: ControlledDaemon) throws(FileError) -> ItemStatus {
        try daemon.states.itemStatus(item)
    }
}

extension ListRequest: PerformedQuestion {
    /// 10,000 items are some megabytes of JSON.
    package static var work: ControlWork { .long }

    /// The status of the items of a directory, without what is in its directories.
    ///
    /// - Throws: ``FileError`` with `notFound`, `notDirectory`, or `invalid` for the limit.
    package func perform(in daemon: ControlledDaemon) throws(FileError) -> DirectoryPage {
        let limit = limit ?? DirectoryPage.itemLimit
        guard (1...DirectoryPage.itemLimit).contains(limit) else {
            throw FileError(.invalid, "the limit must be 1 to \(DirectoryPage.itemLimit) items")
        }
        // One more shows whether this is the end.
        guard let facts = try daemon.replica.read({ try $0.facts(inDirectoryAt: item, after: after, limit: limit + 1) })
        else {
            throw FileSystem.noSuchItem
        }
        var items: [ItemStatus] = []
        items.reserveCapacity(facts.count)
        for facts in facts.prefix(limit) { items.append(try daemon.states.status(of: facts)) }
        return DirectoryPage(
            items: items, next: facts.count > limit ? facts[limit - 1].entry?.name.string : nil)
    }
}

extension DownloadProgressRequest: PerformedQuestion {
    package static var work: ControlWork { .endingWithClient }

    package func perform(in daemon: ControlledDaemon) throws(FileError) -> DownloadProgress {
        var progress = DownloadProgress(bytesDone: 0, bytesTotal: 0, filesDone: 0, filesTotal: 0)
        try daemon.commands.forEachFile(below: try daemon.fileSystem.resolve(item)) { file throws(FileError) in
            let inode = try daemon.replica.read { try $0.inode(file) }
            progress.filesTotal += 1
            progress.bytesTotal += inode.attributes.size
            if inode.isLocal && !inode.hasIncoming {
                progress.filesDone += 1
                progress.bytesDone += inode.attributes.size
            } else if let download = daemon.fileSystem.downloads.active(file) {
                progress.bytesDone += download.bytesDone
            }
        }
        return progress
    }
}

extension DownloadRequest: DoneOrder {
    package func perform(in daemon: ControlledDaemon) async throws(FileError) {
        let number = try daemon.fileSystem.resolve(item)
        if wait {
            try await daemon.commands.download(number, because: .command)
        } else {
            try daemon.commands.request(number, because: .command)
        }
    }
}

extension CancelDownloadRequest: DoneOrder {
    package func perform(in daemon: ControlledDaemon) throws(FileError) {
        try daemon.commands.cancelDownload(try daemon.fileSystem.resolve(item))
    }
}

extension EvictRequest: PerformedOrder {
    package func perform(in daemon: ControlledDaemon) async throws(FileError) -> EvictionAnswer {
        if report ?? false { return EvictionAnswer(report: try await evictReporting(in: daemon)) }
        var eviction = daemon.fileSystem.eviction()
        try await eviction.evict(try daemon.fileSystem.resolve(item))
        return EvictionAnswer()
    }

    /// Evicts a file, or every file below a directory, and reports what was freed and what stayed.
    ///
    /// - Throws: ``FileError`` with `notFound`; and any but `busy` if nothing was evicted before.
    private func evictReporting(in daemon: ControlledDaemon) async throws(FileError) -> EvictionReport {
        let number = try daemon.fileSystem.resolve(item)
        var report = EvictionReport(path: item)
        var files: [InodeNumber] = []
        try daemon.commands.forEachFile(below: number) { files.append($0) }
        var eviction = daemon.fileSystem.eviction()
        for file in files {
            do throws(FileError) {
                try await evict(file, &eviction, &report, daemon.replica)
            } catch {
                if Task.isCancelled { throw FileError(.interrupted, "the eviction was interrupted") }
                switch error.code {
                // Unlinked in the meantime: there is nothing left to evict.
                case .notFound: continue
                case .busy: stayed(file, error.detail, &report, daemon.replica)
                case _ where report.evictedCount > 0:
                    report.problem = error.detail
                    return report
                default: throw error
                }
            }
        }
        return report
    }

    private func evict(
        _ file: InodeNumber, _ eviction: inout Eviction, _ report: inout EvictionReport, _ replica: Replica
    ) async throws(FileError) {
        let before = try replica.read { try $0.attributes(of: file) }
        guard try replica.read({ try $0.isLocal(file) }) else {
            // A download of it may be under way.
            return try await eviction.evict(file)
        }
        try await eviction.evict(file)
        guard try !replica.read({ try $0.isLocal(file) }) else { return report.unsyncedCount += 1 }
        report.evictedCount += 1
        report.freedByteCount += before.blocks * 512
        if report.evicted.count < EvictionReport.pathLimit {
            report.evicted.append(try replica.read { try $0.path(of: file) })
        }
    }

    private func stayed(_ file: InodeNumber, _ reason: String, _ report: inout EvictionReport, _ replica: Replica) {
        report.stayedCount += 1
        guard report.stayed.count < EvictionReport.pathLimit, let path = try? replica.read({ try $0.path(of: file) })
        else { return }
        report.stayed.append(.init(path: path, reason: reason))
    }
}

extension PinRequest: DoneOrder {
    package func perform(in daemon: ControlledDaemon) throws(FileError) {
        try daemon.commands.setPinned(try daemon.fileSystem.resolve(item), pinned)
    }
}

extension PinsRequest: PerformedQuestion {
    package static var work: ControlWork { .endingWithClient }

    /// The items with a setting of their own, by path.
    /// - Throws: `tooLarge` when there are more than ``PinnedItem/limit``.
    package func perform(in daemon: ControlledDaemon) throws(FileError) -> [PinnedItem] {
        let pinned = try daemon.replica.read { try $0.pinnedInodes(limit: PinnedItem.limit + 1) }
        guard pinned.count <= PinnedItem.limit else {
            throw FileError(
                .tooLarge, "more than \(PinnedItem.limit) items are pinned one by one; pin their directories instead")
        }
        let paths = try daemon.replica.read { try $0.paths(of: pinned.map(\.number)) }
        return pinned.compactMap { number, isPinned in
            (number == .root ? "" : paths[number]?.string).map { PinnedItem(path: $0, pinned: isPinned) }
        }.sorted { $0.path.utf8.lexicographicallyPrecedes($1.path.utf8) }
    }
}
