import Ubiquity

/// NSMetadataQuery over what another device creates. The program's container is that of `b`.
enum QueryScenarios {
    /// A running query that records its notifications.
    final class Recorder: @unchecked Sendable {
        // The query is used on its queue only; the rest are boxes.
        let query = NSMetadataQuery()
        let queue = OperationQueue()
        let gathered = Box<[String]?>(nil)
        let added = Box<[String]>([])
        let changed = Box<[String]>([])
        let removed = Box<[String]>([])
        private var tokens: [NSObjectProtocol] = []

        init(_ predicate: NSPredicate, scopes: [Any]) {
            queue.maxConcurrentOperationCount = 1
            query.operationQueue = queue
            query.predicate = predicate
            query.searchScopes = scopes
            query.sortDescriptors = [NSSortDescriptor(key: NSMetadataItemFSNameKey, ascending: true)]
            query.notificationBatchingInterval = 0.1
            let center = NotificationCenter.default
            tokens.append(
                center.addObserver(forName: .NSMetadataQueryDidFinishGathering, object: query, queue: nil) {
                    [unowned self] _ in gathered.value = names(query.results)
                })
            tokens.append(
                center.addObserver(forName: .NSMetadataQueryDidUpdate, object: query, queue: nil) {
                    [unowned self] note in
                    let info = note.userInfo ?? [:]
                    added.change { $0 += names(info[NSMetadataQueryUpdateAddedItemsKey] as? [Any] ?? []) }
                    changed.change { $0 += names(info[NSMetadataQueryUpdateChangedItemsKey] as? [Any] ?? []) }
                    removed.change { $0 += names(info[NSMetadataQueryUpdateRemovedItemsKey] as? [Any] ?? []) }
                })
        }

        private func names(_ items: [Any]) -> [String] {
            items.compactMap { ($0 as? NSMetadataItem)?.value(forAttribute: NSMetadataItemFSNameKey) as? String }
        }

        /// Starts the query and waits until it has gathered.
        func start(_ test: Scenario) async throws {
            queue.addOperation { [self] in _ = query.start() }
            try await test.eventually("nothing was gathered") { gathered.value != nil }
        }

        func value(_ key: String, of name: String) -> Any? {
            let found = Box<Any?>(nil)
            queue.addOperation { [self] in
                for case let item as NSMetadataItem in query.results
                where item.value(forAttribute: NSMetadataItemFSNameKey) as? String == name {
                    found.value = item.value(forAttribute: key)
                }
            }
            queue.waitUntilAllOperationsAreFinished()
            return found.value
        }

        func stop() {
            queue.addOperation { [self] in query.stop() }
            queue.waitUntilAllOperationsAreFinished()
            for token in tokens { NotificationCenter.default.removeObserver(token) }
        }
    }

    static func queries(_ test: Scenario) async throws {
        let documents = test.a.appendingPathComponent("Documents", isDirectory: true)
        try FileManager.default.createDirectory(at: documents, withIntermediateDirectories: true)
        for name in ["b.pdf", "a.pdf", "c.txt"] {
            try Data(repeating: 1, count: 400_000).write(to: documents.appendingPathComponent(name))
        }
        try Data("data".utf8).write(to: test.a.appendingPathComponent("data.pdf"))
        let copy = test.b.appendingPathComponent("Documents/a.pdf")
        try await test.eventually("b has no data.pdf") {
            FileManager.default.fileExists(atPath: test.b.path + "/data.pdf")
        }

        let predicate = NSPredicate(format: "%K LIKE %@", NSMetadataItemFSNameKey, "*.pdf")
        let recorder = Recorder(predicate, scopes: [NSMetadataQueryUbiquitousDocumentsScope])
        try await recorder.start(test)
        try test.equal(recorder.gathered.value, ["a.pdf", "b.pdf"])
        let status = { recorder.value(NSMetadataUbiquitousItemDownloadingStatusKey, of: "a.pdf") as? String }
        try test.equal(status(), NSMetadataUbiquitousItemDownloadingStatusNotDownloaded)
        try test.equal(recorder.value(NSMetadataItemFSSizeKey, of: "a.pdf") as? Int, 400_000)
        try test.equal((recorder.value(NSMetadataItemURLKey, of: "a.pdf") as? URL)?.path, copy.path)
        try test.equal(recorder.value(NSMetadataUbiquitousItemPercentDownloadedKey, of: "a.pdf") as? Double, 0)

        // A download is seen by the query, and so is what the other device does.
        try FileManager.default.startDownloadingUbiquitousItem(at: copy)
        try await test.eventually("\(String(describing: status()))") {
            status() == NSMetadataUbiquitousItemDownloadingStatusCurrent
        }
        try test.equal(recorder.value(NSMetadataUbiquitousItemPercentDownloadedKey, of: "a.pdf") as? Double, 100)
        try Data("new".utf8).write(to: documents.appendingPathComponent("d.pdf"))
        try await test.eventually("\(recorder.added.value)") { recorder.added.value.contains("d.pdf") }
        try test.start(#"mv "$1/b.pdf" "$1/z.pdf"; rm "$1/d.pdf"; mv "$1/c.txt" "$1/c.pdf""#, documents.path)
        try await test.eventually("\(recorder.added.value) \(recorder.changed.value) \(recorder.removed.value)") {
            recorder.removed.value.contains("d.pdf") && recorder.changed.value.contains("z.pdf")
                && recorder.added.value.contains("c.pdf")
        }
        recorder.stop()

        // The other scope is everything else; nothing was downloaded by asking.
        let data = Recorder(NSPredicate(value: true), scopes: [NSMetadataQueryUbiquitousDataScope])
        try await data.start(test)
        try test.check(data.gathered.value?.contains("data.pdf") == true, "\(String(describing: data.gathered.value))")
        try test.check(data.gathered.value?.contains("a.pdf") == false, "\(String(describing: data.gathered.value))")
        data.stop()
        let keys: Set<URLResourceKey> = [.ubiquitousItemDownloadingStatusKey]
        let other = test.b.appendingPathComponent("Documents/z.pdf")
        try test.equal(try other.resourceValues(forKeys: keys).ubiquitousItemDownloadingStatus, .notDownloaded)
    }

    /// Waits until four files are all current, as programs whose documents belong together do; a program's own upload
    /// is told from another device's change by the transition to Current.
    static func transitions(_ test: Scenario) async throws {
        let names = ["1.part", "2.part", "3.part", "4.part"]
        let seen = Box<[String: [String]]>([:])
        let recorder = Recorder(
            NSPredicate(format: "%K ENDSWITH '.part'", NSMetadataItemFSNameKey),
            scopes: [NSMetadataQueryUbiquitousDocumentsScope, NSMetadataQueryUbiquitousDataScope])
        let token = NotificationCenter.default.addObserver(
            forName: .NSMetadataQueryDidUpdate, object: recorder.query, queue: nil
        ) { [unowned recorder] _ in
            recorder.query.enumerateResults { item, _, _ in
                guard let item = item as? NSMetadataItem,
                    let name = item.value(forAttribute: NSMetadataItemFSNameKey) as? String,
                    let status = item.value(forAttribute: NSMetadataUbiquitousItemDownloadingStatusKey) as? String
                else { return }
                seen.change { if $0[name]?.last != status { $0[name, default: []].append(status) } }
                guard status == NSMetadataUbiquitousItemDownloadingStatusNotDownloaded else { return }
                if let url = item.value(forAttribute: NSMetadataItemURLKey) as? URL {
                    try? FileManager.default.startDownloadingUbiquitousItem(at: url)
                }
            }
        }
        try await recorder.start(test)
        for name in names { try Data(repeating: 2, count: 200_000).write(to: test.a.appendingPathComponent(name)) }
        let current = NSMetadataUbiquitousItemDownloadingStatusCurrent
        try await test.eventually("\(seen.value)") { names.allSatisfy { seen.value[$0]?.last == current } }
        for name in names {
            try test.equal(seen.value[name], [NSMetadataUbiquitousItemDownloadingStatusNotDownloaded, current])
        }
        // Its own edit stays Current throughout.
        try Data("mine".utf8).write(to: test.b.appendingPathComponent(names[0]))
        try await test.eventually("it was not uploaded") {
            test.text(test.a.appendingPathComponent(names[0])) == "mine"
        }
        try await Task.sleep(nanoseconds: 300_000_000)
        try test.equal(seen.value[names[0]]?.count, 2)
        NotificationCenter.default.removeObserver(token)
        recorder.stop()
    }

    /// Twenty thousand items: how long a query takes to gather, and to see a change of another device.
    static func many(_ test: Scenario) async throws {
        try test.run(
            "python3", "-c",
            "import os,sys\nfor i in range(100):\n os.makedirs(f'{sys.argv[1]}/{i}')\n for j in range(200): "
                + "open(f'{sys.argv[1]}/{i}/{j}.txt','w').close()", test.a.path + "/tree")
        try test.run("sync", "-f", test.a.path)
        try await test.eventually("b has not all") {
            FileManager.default.fileExists(atPath: test.b.path + "/tree/99/199.txt")
        }
        let recorder = Recorder(
            NSPredicate(format: "%K BEGINSWITH %@", NSMetadataItemPathKey, test.b.path + "/tree/"),
            scopes: [NSMetadataQueryUbiquitousDataScope])
        let start = Date()
        try await recorder.start(test)
        let gathering = Date().timeIntervalSince(start)
        try test.equal(recorder.gathered.value?.count, 20_100)
        let change = Date()
        try Data().write(to: test.a.appendingPathComponent("tree/new.txt"))
        try await test.eventually("\(recorder.added.value)") { recorder.added.value.contains("new.txt") }
        print("gathered in \(gathering) s, a change seen after \(Date().timeIntervalSince(change)) s")
        recorder.stop()
    }
}
