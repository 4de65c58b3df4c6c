package import ControlAPI
import FileSystem
package import Model

extension ItemStatusRequest: PerformedQuestion {
    package func perform(in daemon: ControlledDaemon) throws(FileError) -> ItemStatus {
        try daemon.fileSystem.itemStatus(item)
    }
}

extension ListRequest: PerformedQuestion {
    /// 10,000 items are some megabytes of JSON.
    package static var work: ControlWork { .long }

    package func perform(in daemon: ControlledDaemon) throws(FileError) -> DirectoryPage {
        try daemon.fileSystem.list(item, after: after, limit: limit ?? DirectoryPage.itemLimit)
    }
}

extension TotalsRequest: PerformedQuestion {
    package static var work: ControlWork { .endingWithClient }

    package func perform(in daemon: ControlledDaemon) async throws(FileError) -> ItemTotals {
        try await daemon.fileSystem.totals(below: item)
    }
}

extension ReasonsRequest: PerformedQuestion {
    package func perform(in daemon: ControlledDaemon) throws(FileError) -> ItemReasons {
        try daemon.fileSystem.reasons(item)
    }
}

extension DownloadProgressRequest: PerformedQuestion {
    package static var work: ControlWork { .endingWithClient }

    package func perform(in daemon: ControlledDaemon) throws(FileError) -> DownloadProgress {
        try daemon.fileSystem.downloadProgress(item)
    }
}

extension DownloadRequest: DoneOrder {
    package func perform(in daemon: ControlledDaemon) async throws(FileError) {
        try await daemon.fileSystem.download(item, wait: wait)
    }
}

extension CancelDownloadRequest: DoneOrder {
    package func perform(in daemon: ControlledDaemon) throws(FileError) { try daemon.fileSystem.cancelDownload(item) }
}

extension EvictRequest: PerformedOrder {
    package func perform(in daemon: ControlledDaemon) async throws(FileError) -> EvictionAnswer {
        if report ?? false { return EvictionAnswer(report: try await daemon.fileSystem.evictReporting(item)) }
        try await daemon.fileSystem.evict(item)
        return EvictionAnswer()
    }
}

extension PinRequest: DoneOrder {
    package func perform(in daemon: ControlledDaemon) throws(FileError) {
        try daemon.fileSystem.setPinned(item, pinned)
    }
}

extension PinsRequest: PerformedQuestion {
    package static var work: ControlWork { .endingWithClient }

    package func perform(in daemon: ControlledDaemon) throws(FileError) -> [PinnedItem] { try daemon.fileSystem.pins() }
}
