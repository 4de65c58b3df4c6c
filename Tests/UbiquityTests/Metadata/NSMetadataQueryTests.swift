import Model
import Synchronization
import Testing

@testable import Ubiquity

@Suite(.timeLimit(.minutes(1))) struct NSMetadataQueryTests {
    /// The notifications of a query, in order.
    private final class Watcher: @unchecked Sendable {
        // Unchecked: notifications are only read.
        private let condition = NSCondition()
        private var told: [Notification] = []
        private var tokens: [any NSObjectProtocol] = []

        init(_ query: NSMetadataQuery) {
            tokens = [
                Notification.Name.NSMetadataQueryDidStartGathering, .NSMetadataQueryGatheringProgress,
                .NSMetadataQueryDidFinishGathering, .NSMetadataQueryDidUpdate,
            ].map { name in
                NotificationCenter.default.addObserver(forName: name, object: query, queue: nil) { [weak self] in
                    self?.add($0)
                }
            }
        }

        deinit {
            for token in tokens { NotificationCenter.default.removeObserver(token) }
        }

        private func add(_ notification: Notification) {
            condition.lock()
            told.append(notification)
            condition.broadcast()
            condition.unlock()
        }

        /// - Returns: The next notification; `nil` if none comes within the time.
        func next(within seconds: TimeInterval = 20) -> Notification? {
            condition.lock()
            defer { condition.unlock() }
            let limit = Date(timeIntervalSinceNow: seconds)
            while told.isEmpty, condition.wait(until: limit) {}
            return told.isEmpty ? nil : told.removeFirst()
        }
    }

    private static let scope: @Sendable ([MetadataScope.Kind]) -> [MetadataScope] = { _ in
        [MetadataScope(mountpoint: "/mnt/notes", hasDocuments: true, hasData: true)]
    }

    private static func query(_ daemon: FakeDaemon, _ format: String? = nil) -> NSMetadataQuery {
        let query = NSMetadataQuery(stream: daemon.stream, resolve: scope)
        query.predicate = format.map { NSPredicate(format: $0) }
        query.notificationBatchingInterval = 0.1
        query.operationQueue = OperationQueue()
        return query
    }

    private static func names(_ value: Any?) -> [String?]? {
        (value as? [NSMetadataItem])?.map { $0.value(forAttribute: NSMetadataItemFSNameKey) as? String }
    }

    @Test func `results are gathered, sorted, and followed`() throws {
        let daemon = FakeDaemon([
            .sample("Documents/b.pdf", item: .sample(1)), .sample("Documents/a.pdf", item: .sample(2)),
            .sample("Documents/c.txt", item: .sample(3)),
        ])
        let query = Self.query(daemon, "kMDItemFSName LIKE '*.pdf'")
        query.sortDescriptors = [NSSortDescriptor(key: NSMetadataItemFSNameKey, ascending: true)]
        let watcher = Watcher(query)
        #expect(query.start())
        #expect(!query.start())
        // Whether it still gathers depends on how fast the daemon was.
        #expect(query.isStarted && !query.isStopped)
        #expect(watcher.next()?.name == .NSMetadataQueryDidStartGathering)
        #expect(watcher.next()?.name == .NSMetadataQueryDidFinishGathering)
        #expect(!query.isGathering)
        #expect(Self.names(query.results) == ["a.pdf", "b.pdf"])
        let first = try #require(query.result(at: 0) as? NSMetadataItem)
        #expect(query.index(ofResult: first) == 0)

        daemon.send(.moved(from: "Documents/a.pdf", .sample("Documents/z.pdf", item: .sample(2))))
        daemon.send(.item(.sample("Documents/d.pdf", item: .sample(4))))
        daemon.send(.removed(path: "Documents/b.pdf"))
        let update = try #require(watcher.next())
        #expect(update.name == .NSMetadataQueryDidUpdate && update.object as? NSMetadataQuery === query)
        #expect(Self.names(update.userInfo?[NSMetadataQueryUpdateAddedItemsKey]) == ["d.pdf"])
        #expect(Self.names(update.userInfo?[NSMetadataQueryUpdateRemovedItemsKey]) == ["b.pdf"])
        #expect(Self.names(update.userInfo?[NSMetadataQueryUpdateChangedItemsKey]) == ["z.pdf"])
        #expect(Self.names(query.results) == ["d.pdf", "z.pdf"])
        #expect(query.result(at: 1) as? NSMetadataItem === first)

        query.stop()
        daemon.send(.removed(path: "Documents/d.pdf"))
        #expect(watcher.next(within: 0.5) == nil)
        #expect(query.isStopped && query.resultCount == 2)
    }

    @Test func `results stay when the daemon ends, and one update tells the differences when it is back`() throws {
        let daemon = FakeDaemon([.sample("a", item: .sample(1)), .sample("b", item: .sample(2))])
        let query = Self.query(daemon)
        let watcher = Watcher(query)
        query.start()
        #expect(watcher.next()?.name == .NSMetadataQueryDidStartGathering)
        #expect(watcher.next()?.name == .NSMetadataQueryDidFinishGathering)
        daemon.restart(with: [.sample("b", item: .sample(2), size: 9), .sample("c", item: .sample(3))])
        #expect(query.resultCount == 2)
        let update = try #require(watcher.next())
        #expect(Self.names(update.userInfo?[NSMetadataQueryUpdateAddedItemsKey]) == ["c"])
        #expect(Self.names(update.userInfo?[NSMetadataQueryUpdateRemovedItemsKey]) == ["a"])
        #expect(Self.names(update.userInfo?[NSMetadataQueryUpdateChangedItemsKey]) == ["b"])
        #expect(watcher.next(within: 0.5) == nil)
    }

    @Test func `results are frozen while updates are disabled`() throws {
        let daemon = FakeDaemon([.sample("a", item: .sample(1), percent: 10)])
        let query = Self.query(daemon)
        let watcher = Watcher(query)
        query.start()
        #expect(watcher.next()?.name == .NSMetadataQueryDidStartGathering)
        #expect(watcher.next()?.name == .NSMetadataQueryDidFinishGathering)
        query.disableUpdates()
        daemon.send(.item(.sample("a", item: .sample(1), percent: 40)))
        #expect(watcher.next(within: 0.5) == nil)
        #expect(query.value(ofAttribute: NSMetadataUbiquitousItemPercentDownloadedKey, forResultAt: 0) as? Double == 10)
        query.enableUpdates()
        #expect(watcher.next()?.name == .NSMetadataQueryDidUpdate)
        #expect(query.value(ofAttribute: NSMetadataUbiquitousItemPercentDownloadedKey, forResultAt: 0) as? Double == 40)
    }

    @Test func `a new predicate restarts a running query`() {
        let daemon = FakeDaemon([.sample("a"), .sample("b")])
        let query = Self.query(daemon)
        let watcher = Watcher(query)
        query.start()
        #expect(watcher.next()?.name == .NSMetadataQueryDidStartGathering)
        #expect(watcher.next()?.name == .NSMetadataQueryDidFinishGathering)
        query.predicate = NSPredicate(format: "%K == 'b'", NSMetadataItemFSNameKey)
        #expect(watcher.next()?.name == .NSMetadataQueryDidStartGathering)
        #expect(watcher.next()?.name == .NSMetadataQueryDidFinishGathering)
        #expect(Self.names(query.results) == ["b"])
    }

    private final class Replacer: NSObject, NSMetadataQueryDelegate {
        /// Whether the query said that it gathers, each time an object was asked for.
        let wasGathering = Mutex<[Bool]>([])

        func metadataQuery(_ query: NSMetadataQuery, replacementObjectForResultObject result: NSMetadataItem) -> Any {
            wasGathering.withLock { $0.append(query.isGathering) }
            return "object \(result.value(forAttribute: NSMetadataItemFSNameKey) ?? "")"
        }

        func metadataQuery(
            _ query: NSMetadataQuery, replacementValueForAttribute attrName: String, value attrValue: Any
        ) -> Any { "value \(attrValue)" }
    }

    @Test func `a delegate replaces objects and values, and results are enumerated both ways`() {
        let daemon = FakeDaemon([.sample("a"), .sample("b"), .sample("c")])
        let query = Self.query(daemon)
        let delegate = Replacer()
        query.delegate = delegate
        let watcher = Watcher(query)
        query.start()
        #expect(watcher.next()?.name == .NSMetadataQueryDidStartGathering)
        #expect(watcher.next()?.name == .NSMetadataQueryDidFinishGathering)
        #expect(query.results as? [String] == ["object a", "object b", "object c"])
        #expect(query.index(ofResult: "object b") == 1)
        #expect(query.index(ofResult: "object d") == NSNotFound)
        #expect(query.value(ofAttribute: NSMetadataItemFSNameKey, forResultAt: 1) as? String == "value b")
        var seen: [Int] = []
        query.enumerateResults(options: .reverse) { _, index, stop in
            seen.append(index)
            stop.pointee = ObjCBool(index == 1)
        }
        #expect(seen == [2, 1])
    }

    @Test func `a query gathers until its results can be seen`() {
        let query = Self.query(FakeDaemon([.sample("a"), .sample("b")]))
        let delegate = Replacer()
        query.delegate = delegate
        let watcher = Watcher(query)
        query.start()
        #expect(watcher.next()?.name == .NSMetadataQueryDidStartGathering)
        #expect(watcher.next()?.name == .NSMetadataQueryDidFinishGathering)
        #expect(delegate.wasGathering.withLock { $0 } == [true, true])
        #expect(!query.isGathering && query.resultCount == 2)
    }

    @Test func `a query without mounted containers finishes without results`() {
        let query = NSMetadataQuery(stream: FakeDaemon([]).stream) { _ in [] }
        query.operationQueue = OperationQueue()
        let watcher = Watcher(query)
        query.start()
        #expect(watcher.next()?.name == .NSMetadataQueryDidStartGathering)
        #expect(watcher.next()?.name == .NSMetadataQueryDidFinishGathering)
        #expect(query.resultCount == 0)
    }

    @Test func `updates arrive as a debounced sequence on the main queue`() async {
        let daemon = FakeDaemon([.sample("a", item: .sample(1))])
        let query = NSMetadataQuery(stream: daemon.stream, resolve: Self.scope)
        query.notificationBatchingInterval = 0.1
        let updates = NotificationCenter.default.notifications(named: .NSMetadataQueryDidUpdate, object: query)
        let finished = NotificationCenter.default.notifications(
            named: .NSMetadataQueryDidFinishGathering, object: query)
        query.start()
        for await _ in finished { break }
        daemon.send(.item(.sample("a", item: .sample(1), size: 2)))
        for await notification in updates.debounce(for: .milliseconds(10)) {
            #expect(notification.object as? NSMetadataQuery === query)
            break
        }
        #expect((query.results as? [NSMetadataItem])?.first?.value(forAttribute: NSMetadataItemFSSizeKey) as? Int == 2)
        query.stop()
    }

    @Test func `a released query stops following`() async throws {
        let stopped = DispatchSemaphore(value: 0)
        do {
            let query = NSMetadataQuery(
                stream: ItemStream { _, _, onUpdate, _ in
                    onUpdate(.gathered(count: 0))
                    return { stopped.signal() }
                }, resolve: Self.scope)
            query.operationQueue = OperationQueue()
            let watcher = Watcher(query)
            query.start()
            #expect(watcher.next()?.name == .NSMetadataQueryDidStartGathering)
            #expect(watcher.next()?.name == .NSMetadataQueryDidFinishGathering)
        }
        #expect(stopped.wait(timeout: .now() + 20) == .success)
    }
}
