import Ubiquity

/// What programs got wrong on Apple's systems, or what went wrong there.
enum PitfallScenarios {
    /// Two presenters that coordinate in their change handlers: on Apple's systems each waits for the other. Here a call
    /// that blocks a presenter's queue answers for the presenter; mounted with `deadlock=fail`, none is refused.
    static func handlers(_ test: Scenario) async throws {
        let file = test.a.appendingPathComponent("a.txt")
        try Data("old".utf8).write(to: file)
        let presenters = [Reader(file), Reader(file)]
        for presenter in presenters { NSFileCoordinator.addFilePresenter(presenter) }
        try test.start(#"echo new > "$1""#, file.path)
        try await test.eventually("\(presenters.map(\.ends.value))") {
            presenters.allSatisfy { !$0.ends.value.isEmpty }
        }
        let ends = presenters.flatMap(\.ends.value)
        try test.check(ends.allSatisfy { $0 == "read" }, "\(ends)")
        for presenter in presenters { NSFileCoordinator.removeFilePresenter(presenter) }
        // Nothing is held any more.
        try test.start(#"echo newer > "$1""#, file.path)
        try await test.eventually("a plain program cannot write") { test.text(file) == "newer\n" }
    }

    /// Reads its item, coordinated, in the message that it changed.
    private final class Reader: NSObject, NSFilePresenter, @unchecked Sendable {
        // Constant, or a box.
        let presentedItemURL: URL?
        let presentedItemOperationQueue: OperationQueue
        let ends = Box<[String]>([])

        init(_ url: URL) {
            presentedItemURL = url
            presentedItemOperationQueue = OperationQueue()
            presentedItemOperationQueue.maxConcurrentOperationCount = 1
        }

        func presentedItemDidChange() {
            var error: NSError?
            let end = Box("nothing")
            NSFileCoordinator(filePresenter: self).coordinate(readingItemAt: presentedItemURL!, error: &error) { url in
                end.value = (try? Data(contentsOf: url)) == nil ? "unreadable" : "read"
            }
            ends.change { $0.append(error.map { "\($0.code)" } ?? end.value) }
        }
    }

    /// A download's percentage passes values between its ends while the file is not downloaded.
    static func percentages(_ test: Scenario) async throws {
        let large = test.a.appendingPathComponent("large")
        try test.run("dd", "if=/dev/urandom", "of=\(large.path)", "bs=1M", "count=192", "status=none")
        let keys: Set<URLResourceKey> = [
            .ubiquitousItemDownloadingStatusKey, .ubiquitousItemPercentDownloadedKey, .ubiquitousItemIsUploadedKey,
        ]
        try await test.eventually("it is not uploaded") {
            try large.resourceValues(forKeys: keys).ubiquitousItemIsUploaded == true
        }
        let copy = test.b.appendingPathComponent("large")
        try await test.eventually("b has no such file") { FileManager.default.fileExists(atPath: copy.path) }
        try FileManager.default.startDownloadingUbiquitousItem(at: copy)
        var between: [Double] = []
        while true {
            let values = try copy.resourceValues(forKeys: keys)
            guard values.ubiquitousItemDownloadingStatus == .notDownloaded else { break }
            if let percent = values.ubiquitousItemPercentDownloaded, percent > 0, percent < 100 {
                between.append(percent)
            }
        }
        try test.check(!between.isEmpty, "no value between 0 and 100")
        try test.check(zip(between, between.dropFirst()).allSatisfy(<=), "\(between)")
        try test.equal(try copy.resourceValues(forKeys: keys).ubiquitousItemPercentDownloaded, 100)
    }

    /// The daemon is killed while a query runs: its results stay, versions cannot be read, nothing hangs; afterwards the
    /// query goes on.
    static func restart(_ test: Scenario) async throws {
        let file = test.b.appendingPathComponent("a.txt")
        try Data("old".utf8).write(to: file)
        let recorder = QueryScenarios.Recorder(
            NSPredicate(value: true), scopes: [NSMetadataQueryUbiquitousDataScope])
        try await recorder.start(test)
        try test.equal(recorder.gathered.value, ["a.txt"])
        try await test.signal("gathered", andAwait: "killed")
        try test.equal(recorder.value(NSMetadataItemFSSizeKey, of: "a.txt") as? Int, 3)
        try test.check(
            NSFileVersion.unresolvedConflictVersionsOfItem(at: file)?.isEmpty != false, "there are conflicts")
        try test.check(
            FileScenarios.throwsCode(of: { try FileManager.default.evictUbiquitousItem(at: file) }) != nil, "")
        let document = DocumentScenarios.TextDocument(fileURL: file)
        let isOpen = await document.open()
        try test.check(!isOpen, "a document was opened without a daemon")
        try await test.signal("tried", andAwait: "restarted")
        try Data("new".utf8).write(to: test.b.appendingPathComponent("b.txt"))
        try await test.eventually("\(recorder.added.value)") { recorder.added.value.contains("b.txt") }
        try test.check(recorder.removed.value.isEmpty, "\(recorder.removed.value)")
        try test.check(await document.open(), "the document is not opened")
        try test.equal(document.text.value, "old")
        try test.check(await document.close(), "the document is not closed")
        recorder.stop()
    }
}
