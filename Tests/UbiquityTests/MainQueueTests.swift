import Dispatch
import Synchronization
import Testing
import Ubiquity

/// Calls, presenters and observers that share the main queue, which may block in a call.
@Suite(.timeLimit(.minutes(1))) struct MainQueueTests {
    private final class ChangePresenter: NSObject, NSFilePresenter, @unchecked Sendable {
        // Constant, or guarded by the mutex.
        let presentedItemURL: URL?
        let presentedItemOperationQueue: OperationQueue
        private let count = Mutex(0)

        init(_ url: URL, on queue: OperationQueue = .main) {
            presentedItemURL = url
            presentedItemOperationQueue = queue
            super.init()
        }

        deinit { NSFileCoordinator.removeFilePresenter(self) }

        var changes: Int { count.withLock { $0 } }

        func presentedItemDidChange() {
            if presentedItemOperationQueue === OperationQueue.main { MainActor.assertIsolated() }
            count.withLock { $0 += 1 }
        }
    }

    @Test @MainActor func `a call on the main queue asks presenters of the main queue, and tells them`() async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.file("a.txt", "old")
        let presenter = ChangePresenter(file)
        NSFileCoordinator.addFilePresenter(presenter)
        var text: String?
        NSFileCoordinator().coordinate(writingItemAt: file, error: nil) { try? Data("newer".utf8).write(to: $0) }
        NSFileCoordinator().coordinate(readingItemAt: file, error: nil) {
            text = try? String(contentsOf: $0, encoding: .utf8)
        }
        #expect(text == "newer")
        try await eventually("it was not told") { presenter.changes == 1 }
        NSFileCoordinator.removeFilePresenter(presenter)
    }

    @Test func `a call on the queue of a presenter is answered on its thread`() async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.file("a.txt", "old")
        let presenter = RecordingPresenter(file)
        NSFileCoordinator.addFilePresenter(presenter)
        await withCheckedContinuation { continuation in
            presenter.presentedItemOperationQueue.addOperation {
                NSFileCoordinator().coordinate(readingItemAt: file, error: nil) { _ in presenter.hear("accessor") }
                continuation.resume()
            }
        }
        #expect(
            try await presenter.messages(count: 4) == ["relinquish to reader", "save", "accessor", "reacquire"])
    }

    /// Reads the item when it is told of a change.
    private final class ReadingPresenter: NSObject, NSFilePresenter, @unchecked Sendable {
        let presentedItemURL: URL?
        let presentedItemOperationQueue = OperationQueue()
        private let text = Mutex<String?>(nil)

        init(_ url: URL) {
            presentedItemURL = url
            presentedItemOperationQueue.maxConcurrentOperationCount = 1
            super.init()
        }

        deinit { NSFileCoordinator.removeFilePresenter(self) }

        var seen: String? { text.withLock { $0 } }

        func presentedItemDidChange() {
            guard let url = presentedItemURL else { return }
            NSFileCoordinator().coordinate(readingItemAt: url, error: nil) { url in
                text.withLock { $0 = try? String(contentsOf: url, encoding: .utf8) }
            }
        }
    }

    @Test func `two presenters that read the item in their change handlers get it`() async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.file("a.txt", "old")
        let presenters = [ReadingPresenter(file), ReadingPresenter(file)]
        for presenter in presenters { NSFileCoordinator.addFilePresenter(presenter) }
        NSFileCoordinator().coordinate(writingItemAt: file, error: nil) { try? Data("newer".utf8).write(to: $0) }
        try await eventually("they have not read it") { presenters.allSatisfy { $0.seen == "newer" } }
        for presenter in presenters { NSFileCoordinator.removeFilePresenter(presenter) }
    }

    @Test @MainActor func `observers on the main queue do not keep a document of the main queue from its work`()
        async throws
    {
        let directory = try DocumentDirectory()
        try directory.file("a.txt", "first")
        let document = TextDocument(fileURL: directory.place("a.txt"))
        let states = DocumentRecorder()
        let token = NotificationCenter.default.addObserver(
            forName: UIDocument.stateChangedNotification, object: document, queue: .main
        ) { notification in
            MainActor.assertIsolated()
            states.add("\((notification.object as? UIDocument)?.documentState.rawValue ?? 99)")
        }
        defer { NotificationCenter.default.removeObserver(token) }
        let checkpoints = NotificationCenter.default.addObserver(
            forName: .NSUndoManagerCheckpoint, object: document.undoManager, queue: .main
        ) { _ in states.add("checkpoint") }
        defer { NotificationCenter.default.removeObserver(checkpoints) }
        #expect(await document.open())
        document.undoManager.registerUndo(withTarget: document) { $0.text = "first" }
        document.text = "second"
        #expect(await document.save(to: document.fileURL, for: .forOverwriting))
        #expect(await document.close())
        #expect(try directory.text("a.txt") == "second")
        try await eventually("\(states.all)") {
            states.all.filter { $0 != "checkpoint" } == ["0", "1"] && states.all.contains("checkpoint")
        }
    }

    @Test @MainActor func `a read on the main queue gets what a document of the main queue has not saved`() async throws
    {
        let directory = try DocumentDirectory()
        try directory.file("a.txt", "first")
        let document = TextDocument(fileURL: directory.place("a.txt"))
        await withCheckedContinuation { continuation in document.open { _ in continuation.resume() } }
        document.setAutosaveDelay(.seconds(60))
        document.change("second")
        var text: String?
        NSFileCoordinator().coordinate(readingItemAt: document.fileURL, error: nil) {
            text = try? String(contentsOf: $0, encoding: .utf8)
        }
        #expect(text == "second" && !document.hasUnsavedChanges)
        #expect(await document.close())
    }

    @Test func `a block for another queue runs there, and one for the queue that posts at once`() {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        let center = NotificationCenter()
        let name = Notification.Name("test")
        let calls = DocumentRecorder()
        let token = center.addObserver(forName: name, object: nil, queue: queue) { [weak queue] _ in
            calls.add(OperationQueue.current === queue ? "queue" : "elsewhere")
        }
        center.post(name: name, object: nil)
        queue.waitUntilAllOperationsAreFinished()
        #expect(calls.all == ["queue"])
        queue.addOperation {
            center.post(name: name, object: nil)
            calls.add("posted")
        }
        queue.waitUntilAllOperationsAreFinished()
        #expect(calls.all == ["queue", "queue", "posted"])
        center.removeObserver(token)
        center.post(name: name, object: nil)
        queue.waitUntilAllOperationsAreFinished()
        #expect(calls.all.count == 3)
    }
}
