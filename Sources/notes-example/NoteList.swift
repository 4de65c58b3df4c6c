import Ubiquity

/// All notes with their status, by a query that goes on while the program runs.
///
/// A query reads metadata only: a note that is not downloaded is listed and stays where it is.
@MainActor
final class NoteList {
    private let query = NSMetadataQuery()
    /// What was printed last, to print only what is new.
    private var rows: [String: String] = [:]

    init() {
        query.predicate = NSPredicate(format: "%K ENDSWITH[c] '.txt'", NSMetadataItemFSNameKey)
        query.searchScopes = [NSMetadataQueryUbiquitousDocumentsScope]
        query.sortDescriptors = [NSSortDescriptor(key: NSMetadataItemFSNameKey, ascending: true)]
        query.notificationBatchingInterval = 0.1
    }

    func printOnce() async {
        await gather()
        query.stop()
        if rows.isEmpty { say("no notes") }
    }

    func printForever() async {
        let updates = NotificationCenter.default.notifications(named: .NSMetadataQueryDidUpdate, object: query)
        await gather()
        say("watching")
        for await update in updates {
            for item in update.userInfo?[NSMetadataQueryUpdateRemovedItemsKey] as? [NSMetadataItem] ?? [] {
                let name = Self.name(of: item)
                if rows.removeValue(forKey: name) != nil { say("[query] \(name): gone") }
            }
            printNewRows(mark: "[query] ")
        }
    }

    /// Starts the query, and prints what it has found when it has found everything.
    private func gather() async {
        let ends = NotificationCenter.default.notifications(named: .NSMetadataQueryDidFinishGathering, object: query)
        query.start()
        for await _ in ends { break }
        printNewRows(mark: "")
    }

    private func printNewRows(mark: String) {
        query.disableUpdates()  // the results stay as they are
        defer { query.enableUpdates() }
        query.enumerateResults { result, _, _ in
            guard let item = result as? NSMetadataItem else { return }
            let name = Self.name(of: item)
            let row = "\(name): \(Self.status(of: item))"
            if rows.updateValue(row, forKey: name) != row { say(mark + row) }
        }
    }

    private static func name(of item: NSMetadataItem) -> String {
        let url = item.value(forAttribute: NSMetadataItemURLKey) as? URL
        return url?.deletingPathExtension().lastPathComponent ?? "?"
    }

    private static func status(of item: NSMetadataItem) -> String {
        func flag(_ key: String) -> Bool { item.value(forAttribute: key) as? Bool ?? false }
        if flag(NSMetadataUbiquitousItemHasUnresolvedConflictsKey) { return "in conflict" }
        if flag(NSMetadataUbiquitousItemIsDownloadingKey) {
            let percent = item.value(forAttribute: NSMetadataUbiquitousItemPercentDownloadedKey) as? Double ?? 0
            return "downloading, \(Int(percent)) %"
        }
        switch item.value(forAttribute: NSMetadataUbiquitousItemDownloadingStatusKey) as? String {
        case NSMetadataUbiquitousItemDownloadingStatusNotDownloaded: return "not downloaded"
        case NSMetadataUbiquitousItemDownloadingStatusDownloaded: return "out of date"
        default: return flag(NSMetadataUbiquitousItemIsUploadedKey) ? "current" : "not uploaded yet"
        }
    }
}
