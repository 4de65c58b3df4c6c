import Dispatch
import Programs
import Synchronization
import Testing
import Ubiquity

/// Coordination of files outside all containers, within this process.
@Suite(.timeLimit(.minutes(1))) struct LocalCoordinationTests {
    @Test func `an accessor gets the URL of its item, and its claim ends with it`() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.file("a.txt")
        var error: NSError?
        var calls = 0
        for _ in 1...2 {
            NSFileCoordinator().coordinate(writingItemAt: file, options: .forReplacing, error: &error) { url in
                #expect(url == file)
                try? Data("hi".utf8).write(to: url)
                calls += 1
            }
        }
        NSFileCoordinator().coordinate(readingItemAt: file, error: nil) { url in
            #expect((try? Data(contentsOf: url)) == Data("hi".utf8))
            calls += 1
        }
        #expect(calls == 3)
        #expect(error == nil)
    }

    @Test func `a writer waits for a reader, and one with the reader's purpose does not`() async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.file("a.txt", "old")
        let order = Mutex<[String]>([])
        let isReading = DispatchSemaphore(value: 0)
        let mayEnd = DispatchSemaphore(value: 0)
        let hasWritten = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            let reader = NSFileCoordinator()
            reader.purposeIdentifier = "org.dewpoint.test"
            reader.coordinate(readingItemAt: file, error: nil) { _ in
                isReading.signal()
                mayEnd.wait()
                order.withLock { $0.append("reader") }
            }
        }
        #expect(isReading.wait(timeout: .now() + 20) == .success)
        let friend = NSFileCoordinator()
        friend.purposeIdentifier = "org.dewpoint.test"
        friend.coordinate(writingItemAt: file, error: nil) { _ in order.withLock { $0.append("friend") } }
        Thread.detachNewThread {
            NSFileCoordinator().coordinate(writingItemAt: file, error: nil) { _ in
                order.withLock { $0.append("writer") }
            }
            hasWritten.signal()
        }
        // The writer has time to overtake, if it can.
        try await Task.sleep(for: .milliseconds(100))
        mayEnd.signal()
        #expect(hasWritten.wait(timeout: .now() + 20) == .success)
        #expect(order.withLock { $0 } == ["friend", "reader", "writer"])
    }

    @Test func `a presenter saves and relinquishes for a reader, and reacquires afterwards`() async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.file("a.txt", "old")
        let presenter = RecordingPresenter(file)
        NSFileCoordinator.addFilePresenter(presenter)
        #expect(NSFileCoordinator.filePresenters.contains { $0 === presenter })
        NSFileCoordinator().coordinate(readingItemAt: file, error: nil) { _ in
            #expect(presenter.messages == ["relinquish to reader", "save"])
        }
        #expect(try await presenter.messages(count: 3) == ["relinquish to reader", "save", "reacquire"])
        NSFileCoordinator().coordinate(readingItemAt: file, options: .withoutChanges, error: nil) { _ in }
        #expect(try await presenter.messages(count: 5).dropFirst(3) == ["relinquish to reader", "reacquire"])
        // Its own coordinator does not ask it.
        NSFileCoordinator(filePresenter: presenter).coordinate(writingItemAt: file, error: nil) { url in
            try? Data("new".utf8).write(to: url)
        }
        NSFileCoordinator.removeFilePresenter(presenter)
        NSFileCoordinator().coordinate(writingItemAt: file, error: nil) { _ in }
        #expect(presenter.messages.count == 5)
        #expect(!NSFileCoordinator.filePresenters.contains { $0 === presenter })
    }

    @Test func `a coordinator that is older than its presenter's registration does not ask it`() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.file("a.txt", "old")
        let presenter = RecordingPresenter(file)
        let coordinator = NSFileCoordinator(filePresenter: presenter)
        NSFileCoordinator.addFilePresenter(presenter)
        coordinator.coordinate(writingItemAt: file, error: nil) { _ in }
        #expect(presenter.messages == [])
        #expect(coordinator.purposeIdentifier == NSFileCoordinator(filePresenter: presenter).purposeIdentifier)
        NSFileCoordinator.removeFilePresenter(presenter)
    }

    @Test func `the error of a presenter is the error of the call`() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.file("a.txt", "old")
        let failure = NSError(domain: "test", code: 7, userInfo: [NSLocalizedDescriptionKey: "cannot save now"])
        let presenter = RecordingPresenter(file, savingError: failure)
        NSFileCoordinator.addFilePresenter(presenter)
        var error: NSError?
        NSFileCoordinator().coordinate(readingItemAt: file, error: &error) { _ in Issue.record("the accessor ran") }
        #expect(error == failure)
        NSFileCoordinator.removeFilePresenter(presenter)
    }

    @Test func `presenters of a file and of its directory are told of changes, moves and deletions`() async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.file("a.txt", "old")
        let moved = try directory.file("b.txt")
        let ofFile = RecordingPresenter(file)
        let ofDirectory = RecordingPresenter(directory.url)
        NSFileCoordinator.addFilePresenter(ofFile)
        NSFileCoordinator.addFilePresenter(ofDirectory)
        let coordinator = NSFileCoordinator()
        coordinator.coordinate(writingItemAt: file, error: nil) { url in
            // In place and by renaming another file over it.
            try? Data("newer".utf8).write(to: url)
        }
        #expect(try await ofFile.messages(count: 2) == ["relinquish to writer", "changed"])
        coordinator.coordinate(writingItemAt: file, error: nil) { url in
            try? Data("newest".utf8).write(to: url, options: .atomic)
        }
        #expect(try await ofFile.messages(count: 4).dropFirst(2) == ["relinquish to writer", "changed"])
        coordinator.coordinate(
            writingItemAt: file, options: .forMoving, writingItemAt: moved, options: .forReplacing, error: nil
        ) { old, new in
            try? FileManager.default.moveItem(at: old, to: new)
            coordinator.item(at: old, didMoveTo: new)
        }
        #expect(try await ofFile.messages(count: 6).dropFirst(4) == ["relinquish to writer", "moved to b.txt"])
        coordinator.coordinate(writingItemAt: moved, options: .forDeleting, error: nil) { url in
            try? FileManager.default.removeItem(at: url)
        }
        #expect(
            try await ofFile.messages(count: 8).dropFirst(6) == ["relinquish to writer", "accommodate deletion"])
        coordinator.coordinate(writingItemAt: file, error: nil) { url in try? Data("again".utf8).write(to: url) }
        #expect(
            try await ofDirectory.messages(count: 5)
                == [
                    "a.txt changed", "a.txt changed", "a.txt moved to b.txt", "b.txt changed", "a.txt appeared",
                ])
        NSFileCoordinator.removeFilePresenter(ofFile)
        NSFileCoordinator.removeFilePresenter(ofDirectory)
    }

    @Test func `the presenter of a missing file is told when it is created, by writing or by renaming`() async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.file("a.txt")
        let presenter = RecordingPresenter(file)
        NSFileCoordinator.addFilePresenter(presenter)
        func write(_ body: @escaping (URL) throws -> Void) {
            NSFileCoordinator().coordinate(writingItemAt: file, error: nil) { url in try? body(url) }
        }
        write { try Data("one".utf8).write(to: $0) }
        #expect(try await presenter.messages(count: 2) == ["relinquish to writer", "changed"])
        write { try FileManager.default.removeItem(at: $0) }
        write { try Data("two".utf8).write(to: $0, options: .atomic) }
        #expect(
            try await presenter.messages(count: 5).dropFirst(2)
                == ["relinquish to writer", "relinquish to writer", "changed"])
        write { try FileManager.default.removeItem(at: $0) }
        let other = try directory.file("b.txt", "three")
        NSFileCoordinator().coordinate(
            writingItemAt: other, options: .forMoving, writingItemAt: file, options: .forReplacing, error: nil
        ) { try? FileManager.default.moveItem(at: $0, to: $1) }
        #expect(
            try await presenter.messages(count: 9).dropFirst(5)
                == ["relinquish to writer", "relinquish to writer", "accommodate deletion", "changed"])
        NSFileCoordinator.removeFilePresenter(presenter)
    }

    @Test func `a presenter does not hear of a later file that got its removed file's inode number`() async throws {
        let directory = try TemporaryDirectory()
        let number = { (file: URL) in
            try FileManager.default.attributesOfItem(atPath: file.path)[.systemFileNumber] as? Int
        }
        // Disks that never use a number again, such as btrfs, have nothing to tell apart.
        for _ in 1...20 {
            let file = try directory.file("a.txt", "old")
            let presenter = RecordingPresenter(file)
            NSFileCoordinator.addFilePresenter(presenter)
            defer { NSFileCoordinator.removeFilePresenter(presenter) }
            let before = try number(file)
            try FileManager.default.removeItem(at: file)
            // A disk's times have ticks of a few milliseconds.
            usleep(20_000)
            let later = try directory.file("b.txt", "new")
            let isReused = try number(later) == before
            NSFileCoordinator().coordinate(writingItemAt: later, options: .forDeleting, error: nil) { url in
                try? FileManager.default.removeItem(at: url)
            }
            #expect(presenter.messages == [])
            if isReused { return }
        }
    }

    @Test func `a cancelled coordinator fails its waiting call and all later ones`() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.file("a.txt", "old")
        let code = Mutex<Int?>(nil)
        let coordinator = NSFileCoordinator()
        let hasFailed = DispatchSemaphore(value: 0)
        NSFileCoordinator().coordinate(writingItemAt: file, error: nil) { _ in
            Thread.detachNewThread {
                var error: NSError?
                coordinator.coordinate(readingItemAt: file, error: &error) { _ in Issue.record("the accessor ran") }
                code.withLock { $0 = error?.code }
                hasFailed.signal()
            }
            Thread.sleep(forTimeInterval: 0.05)
            coordinator.cancel()
            #expect(hasFailed.wait(timeout: .now() + 20) == .success)
        }
        #expect(code.withLock { $0 } == 3072)
        var error: NSError?
        coordinator.coordinate(readingItemAt: file, error: &error) { _ in Issue.record("the accessor ran") }
        #expect(error?.code == CocoaError.userCancelled.rawValue)
    }

    @Test func `intents are granted together, and the accessor runs on its queue`() throws {
        let directory = try TemporaryDirectory()
        let files = try (0..<3).map { try directory.file("\($0).txt", "old") }
        let queue = OperationQueue()
        let hasRun = DispatchSemaphore(value: 0)
        let intents =
            [NSFileAccessIntent.readingIntent(with: files[0])]
            + files.dropFirst().map { .writingIntent(with: $0) }
        NSFileCoordinator().coordinate(with: intents, queue: queue) { error in
            #expect(error == nil)
            #expect(intents.map(\.url) == files)
            #expect(OperationQueue.current === queue)
            hasRun.signal()
        }
        #expect(hasRun.wait(timeout: .now() + 20) == .success)
    }

    @Test func `a snapshot for uploading is a zip archive of a directory, and others may write meanwhile`() async throws
    {
        let directory = try TemporaryDirectory()
        let package = directory.url.appendingPathComponent("notes", isDirectory: true)
        try FileManager.default.createDirectory(at: package, withIntermediateDirectories: true)
        try Data("one".utf8).write(to: package.appendingPathComponent("ü.txt"))
        try Data().write(to: package.appendingPathComponent("empty"))
        let copy = directory.url.appendingPathComponent("copy.zip")
        var snapshot: URL?
        NSFileCoordinator().coordinate(readingItemAt: package, options: .forUploading, error: nil) { url in
            snapshot = url
            #expect(url.lastPathComponent == "notes.zip")
            NSFileCoordinator().coordinate(writingItemAt: package, error: nil) { _ in }
            #expect(throws: Never.self) { try FileManager.default.copyItem(at: url, to: copy) }
        }
        try await Program.run([
            "python3", "-c",
            "import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None; "
                + "assert z.read('notes/ü.txt') == b'one' and z.namelist() == "
                + "['notes/', 'notes/empty', 'notes/ü.txt'], z.namelist()", copy.path,
        ])
        #expect(snapshot.map { !FileManager.default.fileExists(atPath: $0.path) } == true)
    }

    /// Implements its question as an async function.
    private final class AsyncPresenter: NSObject, NSFilePresenter, @unchecked Sendable {
        let presentedItemURL: URL?
        let presentedItemOperationQueue = OperationQueue()
        let saves = Atomic(0)
        init(_ url: URL) { presentedItemURL = url }
        func savePresentedItemChanges() async throws {
            await Task.yield()
            saves.wrappingAdd(1, ordering: .relaxed)
        }
    }

    @Test func `a presenter may answer with an async function`() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.file("a.txt", "old")
        let presenter = AsyncPresenter(file)
        NSFileCoordinator.addFilePresenter(presenter)
        NSFileCoordinator().coordinate(readingItemAt: file, error: nil) { _ in
            #expect(presenter.saves.load(ordering: .relaxed) == 1)
        }
        NSFileCoordinator.removeFilePresenter(presenter)
    }

    private final class SilentPresenter: NSObject, NSFilePresenter, @unchecked Sendable {
        let presentedItemURL: URL?
        let presentedItemOperationQueue = OperationQueue()
        init(_ url: URL) { presentedItemURL = url }
    }

    private actor Blocker {
        func write(_ file: URL) -> Bool {
            var hasRun = false
            NSFileCoordinator().coordinate(writingItemAt: file, error: nil) { _ in
                Thread.sleep(forTimeInterval: 0.01)
                hasRun = true
            }
            return hasRun
        }
    }

    @Test func `eight actors that block in calls all proceed, with presenters that implement nothing`() async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.file("a.txt", "old")
        let presenter = SilentPresenter(file)
        NSFileCoordinator.addFilePresenter(presenter)
        let results = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<8 { group.addTask { await Blocker().write(file) } }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(results == 8)
        NSFileCoordinator.removeFilePresenter(presenter)
    }
}
