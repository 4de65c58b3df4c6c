package import ControlAPI
import FileSystem
package import Model
import Replica
import Sync

extension TransfersRequest: PerformedQuestion {
    package static var work: ControlWork { .endingWithClient }

    /// The transfers under way, and those that wait: at most ``TransferListing/waitingLimit`` in each direction.
    package func perform(in daemon: ControlledDaemon) throws(FileError) -> TransferListing {
        let underWay = daemon.transfersUnderWay()
        var totals = try daemon.replica.read { try $0.totals() }
        daemon.add(underWay, to: &totals)
        var active: [Transfer] = []
        for (key, transfer) in underWay {
            // Unlinked while it was being transferred.
            guard let path = try? daemon.replica.read({ try $0.path(of: key.inode) }) else { continue }
            active.append(
                Transfer(
                    path: path, direction: key.direction, bytesDone: transfer.reading.bytesDone,
                    byteCount: transfer.reading.byteCount, bytesPerSecond: transfer.bytesPerSecond))
        }
        active.sort { ($0.path, $0.direction.rawValue) < ($1.path, $1.direction.rawValue) }
        let waiting =
            try daemon.waitingDownloads(except: Set(underWay.keys.filter { $0.direction == .down }.map(\.inode)))
            + daemon.waitingUploads(except: Set(underWay.keys.filter { $0.direction == .up }.map(\.inode)))
        return TransferListing(
            active: active, waiting: waiting, uploads: totals.uploads, downloads: totals.downloads)
    }
}

extension TotalsRequest: PerformedQuestion {
    package static var work: ControlWork { .endingWithClient }

    /// How long a walk through a directory may take.
    private static let walkLimit = Duration.seconds(5)

    /// The counts over an item and everything below it; ``ItemTotals/isPartial`` when that took too long.
    package func perform(in daemon: ControlledDaemon) async throws(FileError) -> ItemTotals {
        let number = try daemon.fileSystem.resolve(item)
        if number == .root { return try daemon.totals() }
        let underWay = daemon.transfersUnderWay()
        var cursor = try daemon.replica.read {
            try $0.totalsCursor(of: number, active: Set(underWay.keys.map(\.inode)))
        }
        let end = daemon.environment.uptime() + Self.walkLimit
        while !cursor.isAtEnd {
            if Task.isCancelled { throw FileError(.interrupted, "the client has disconnected") }
            guard daemon.environment.uptime() < end else { break }
            try daemon.replica.read { try $0.countMore(&cursor) }
            // Others have their turn: the walk may be long.
            await Task.yield()
        }
        var totals = cursor.totals
        totals.isPartial = !cursor.isAtEnd
        daemon.add(underWay.filter { cursor.active.contains($0.key.inode) }, to: &totals)
        return totals
    }
}

extension ControlledDaemon {
    /// The counts over the whole container: cheap, however many items there are.
    func totals() throws(FileError) -> ItemTotals {
        var totals = try replica.read { try $0.totals() }
        add(transfersUnderWay(), to: &totals)
        return totals
    }

    fileprivate typealias MeasuredTransfer = (reading: TransferMeter.Reading, bytesPerSecond: Double)

    fileprivate func transfersUnderWay() -> [TransferMeter.Key: MeasuredTransfer] {
        var readings: [TransferMeter.Key: TransferMeter.Reading] = [:]
        for download in fileSystem.downloads.underWay where download.isUnderWay {
            readings[.init(direction: .down, inode: download.inode)] = .init(
                byteCount: download.byteCount, bytesDone: download.bytesDone, began: download.began,
                bytesAtBegin: download.bytesAtBegin)
        }
        for (inode, upload) in syncEngine.uploader.progress {
            readings[.init(direction: .up, inode: inode)] = .init(
                byteCount: upload.byteCount, bytesDone: upload.bytesDone, began: upload.began, bytesAtBegin: 0)
        }
        let speeds = transferMeter.speeds(readings, now: environment.uptime())
        return Dictionary(uniqueKeysWithValues: readings.map { ($0, ($1, speeds[$0] ?? 0)) })
    }

    fileprivate func add(_ underWay: [TransferMeter.Key: MeasuredTransfer], to totals: inout ItemTotals) {
        for (key, transfer) in underWay {
            let field: WritableKeyPath<ItemTotals, TransferTotals> =
                key.direction == .up ? \.uploads : \.downloads
            totals[keyPath: field].activeCount += 1
            totals[keyPath: field].activeByteCount += transfer.reading.byteCount
            totals[keyPath: field].activeDoneByteCount += transfer.reading.bytesDone
            totals[keyPath: field].bytesPerSecond =
                (totals[keyPath: field].bytesPerSecond ?? 0) + transfer.bytesPerSecond
        }
        totals.uploads.estimate()
        totals.downloads.estimate()
    }

    fileprivate func waitingDownloads(except active: Set<InodeNumber>) throws(FileError) -> [Transfer] {
        let limit = TransferListing.waitingLimit
        let inodes = try replica.read { try $0.requestedDownloads(limit: limit + active.count) }.filter {
            !active.contains($0)
        }
        var seen: Set<InodeNumber> = []
        return try replica.read { try $0.facts(of: inodes.prefix(limit)) }.filter {
            seen.insert($0.attributes.inode).inserted
        }
        .map { facts in
            let byteCount = facts.attributes.size
            return Transfer(
                path: facts.path, direction: .down,
                bytesDone: Int64(Double(byteCount) * (facts.isLocal ? 0 : facts.percentLocal) / 100),
                byteCount: byteCount, reason: reasonToWaitForDownload(facts))
        }
    }

    /// Why a requested download is not under way; `nil` when only others are before it.
    func reasonToWaitForDownload(_ facts: ItemFacts) -> String? {
        if facts.isPaused { return "its sync is paused" }
        if let error = facts.entry?.error { return error.text }
        return syncEngine.store.isSilent ? "the store does not answer" : nil
    }

    fileprivate func waitingUploads(except active: Set<InodeNumber>) throws(FileError) -> [Transfer] {
        let limit = TransferListing.waitingLimit
        let blocked = try uploadBlock()
        return try replica.read { try $0.outbox.waitingUploads(limit: limit + active.count) }.filter { upload in
            upload.inode.map { !active.contains($0) } ?? true
        }.prefix(limit).map { upload in
            Transfer(
                path: upload.path, direction: .up, isDeletion: upload.isDeletion, byteCount: upload.byteCount,
                reason: reasonToWait(
                    upload.item, upload.inode, isPaused: upload.isPaused, blocked: blocked))
        }
    }

    /// What blocks all uploads, in a sentence.
    func uploadBlock() throws(FileError) -> String? {
        if try replica.read({ try $0.isContainerPaused() }) { return "sync of the container is paused" }
        return syncEngine.containerGuard.problem ?? syncEngine.uploader.problem
            ?? (syncEngine.store.isSilent ? "the store does not answer" : nil)
    }

    /// Why a change is not being uploaded; `nil` when only others are before it.
    ///
    /// - Parameter inode: `nil` for a deletion.
    func reasonToWait(_ item: ItemID, _ inode: InodeNumber?, isPaused: Bool, blocked: String?) -> String? {
        if inode == nil, syncEngine.uploader.heldDeletionCount > 0 {
            return "the deletion is held until it is confirmed"
        }
        if isPaused { return blocked ?? "its sync is paused" }
        if let fault = syncEngine.uploader.ownFault(of: item) { return fault.text }
        if let inode, fileSystem.files.isOpenForWriting(inode) { return "it is open for writing" }
        return blocked
    }
}
