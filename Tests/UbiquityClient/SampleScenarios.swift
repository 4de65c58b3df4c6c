import Ubiquity

/// Code as published samples for iCloud documents have it, with only the import changed.
enum SampleScenarios {
    struct MetadataItemWrapper: Sendable {
        let fileName: String?
        let fileSize: Int?
        let contentType: String?
        let isDirectory: Bool
        let url: URL?
        let isPlaceholder: Bool

        init(metadataItem: NSMetadataItem) {
            fileName = metadataItem.value(forAttribute: NSMetadataItemFSNameKey) as? String
            fileSize = metadataItem.value(forAttribute: NSMetadataItemFSSizeKey) as? Int
            contentType = metadataItem.value(forAttribute: NSMetadataItemContentTypeKey) as? String
            isDirectory = contentType == "public.folder"
            url = metadataItem.value(forAttribute: NSMetadataItemURLKey) as? URL
            isPlaceholder =
                metadataItem.value(forAttribute: NSMetadataUbiquitousItemDownloadingStatusKey) as? String
                == NSMetadataUbiquitousItemDownloadingStatusNotDownloaded
        }
    }

    final class ItemQuery: @unchecked Sendable {
        let query = NSMetadataQuery()
        let queue: OperationQueue
        let logger = Logger(subsystem: "org.dewpoint.Tests", category: "query")

        init(queue: OperationQueue = .main) { self.queue = queue }

        func searchMetadataItems(
            predicate: NSPredicate? = nil, sortDescriptors: [NSSortDescriptor] = [],
            scopes: [Any] = [NSMetadataQueryUbiquitousDocumentsScope]
        ) -> AsyncStream<[MetadataItemWrapper]> {
            query.searchScopes = scopes
            query.sortDescriptors = sortDescriptors
            query.predicate = predicate
            return AsyncStream { continuation in
                for name in [NSNotification.Name.NSMetadataQueryDidFinishGathering, .NSMetadataQueryDidUpdate] {
                    NotificationCenter.default.addObserver(forName: name, object: query, queue: queue) { _ in
                        let result = self.query.results.compactMap { item -> MetadataItemWrapper? in
                            guard let metadataItem = item as? NSMetadataItem else { return nil }
                            return MetadataItemWrapper(metadataItem: metadataItem)
                        }
                        self.logger.debug("\(result.count, privacy: .public) items, \(result.first?.url)")
                        continuation.yield(result)
                    }
                }
                query.start()
                continuation.onTermination = { @Sendable _ in
                    self.query.stop()
                    NotificationCenter.default.removeObserver(
                        self, name: .NSMetadataQueryDidFinishGathering, object: self.query)
                }
            }
        }
    }

    static func samples(_ test: Scenario) async throws {
        let documents = test.a.appendingPathComponent("Documents", isDirectory: true)
        let package = documents.appendingPathComponent("note.rtfd", isDirectory: true)
        try FileManager.default.createDirectory(at: package, withIntermediateDirectories: true)
        try Data("text".utf8).write(to: package.appendingPathComponent("TXT.rtf"))
        try Data("12345".utf8).write(to: documents.appendingPathComponent("a.txt"))
        try FileManager.default.createDirectory(
            at: documents.appendingPathComponent("folder"), withIntermediateDirectories: true)
        let query = ItemQuery()
        let sorting = [NSSortDescriptor(key: NSMetadataItemFSNameKey, ascending: true)]
        for await items in query.searchMetadataItems(sortDescriptors: sorting).throttle(for: .seconds(1), latest: true)
        where items.count >= 3 {
            // The package is one document, and no directory.
            try test.equal(items.map(\.fileName), ["a.txt", "folder", "note.rtfd"])
            try test.equal(items.map(\.contentType), ["public.plain-text", "public.folder", "com.apple.rtfd"])
            try test.equal(items.map(\.isDirectory), [false, true, false])
            try test.equal(items[0].fileSize, 5)
            break
        }
        let packages = NSMetadataQuery()
        packages.predicate = NSPredicate(format: "%K == %@", NSMetadataItemContentTypeTreeKey, "com.apple.package")
        packages.valueListAttributes = [NSMetadataItemContentTypeKey]
        packages.start()
        try await test.eventually("it gathers") { packages.isStarted && !packages.isGathering }
        try test.equal(packages.resultCount, 1)
        try test.equal(packages.valueLists[NSMetadataItemContentTypeKey]?.first?.count, 1)
        packages.stop()
        try test.equal(try package.resourceValues(forKeys: [.contentTypeKey]).contentType, .rtfd)
    }
}
