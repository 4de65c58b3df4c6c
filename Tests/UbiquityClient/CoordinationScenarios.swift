import Ubiquity

/// NSFileCoordinator and NSFilePresenter, beside plain programs and another device.
enum CoordinationScenarios {
    static func claims(_ test: Scenario) async throws {
        let file = test.a.appendingPathComponent("notes/today/a.txt")
        // Neither the file nor its directories exist.
        try writing(file, options: .forReplacing) { url in
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data("hello".utf8).write(to: url, options: .atomic)
        }
        // The other device has it, not downloaded; reading it under a claim downloads it.
        let copy = test.b.appendingPathComponent("notes/today/a.txt")
        try await test.eventually("b has no a.txt") { FileManager.default.fileExists(atPath: copy.path) }
        var error: NSError?
        let contents = Box<String?>(nil)
        NSFileCoordinator().coordinate(readingItemAt: copy, error: &error) { url in contents.value = test.text(url) }
        try test.check(error == nil, "\(error!)")
        try test.equal(contents.value, "hello")

        // A plain program's write waits while a claim is held.
        let order = Box<[String]>([])
        try writing(file) { url in
            try test.start(#"echo plain > "$1"; touch "$2""#, url.path, test.directory.path + "/written")
            Thread.sleep(forTimeInterval: 0.4)
            order.change { $0.append(test.text(url) ?? "nothing") }
            try Data("claimed".utf8).write(to: url)
        }
        try await test.eventually("the plain program did not write") {
            FileManager.default.fileExists(atPath: test.directory.path + "/written")
        }
        try test.equal(order.value, ["hello"])
        try test.equal(test.text(file), "plain\n")

        // A package is one item, and two items are claimed at once, in two containers.
        let package = test.a.appendingPathComponent("p.rtfd", isDirectory: true)
        try FileManager.default.createDirectory(at: package, withIntermediateDirectories: true)
        let seen = Box(0)
        NSFileCoordinator().coordinate(
            readingItemAt: package.appendingPathComponent("TXT.rtf"), options: .withoutChanges, writingItemAt: copy,
            options: .forMerging, error: &error
        ) { one, two in
            seen.value += one.lastPathComponent == "TXT.rtf" && two == copy ? 1 : 0
        }
        try test.check(error == nil && seen.value == 1, "\(String(describing: error)) \(seen.value)")

        // Many items on a queue.
        let intents = [
            NSFileAccessIntent.readingIntent(with: file), .writingIntent(with: package, options: .forDeleting),
        ]
        let done = Box<String?>(nil)
        NSFileCoordinator().coordinate(with: intents, queue: OperationQueue()) { error in
            do {
                try FileManager.default.removeItem(at: intents[1].url)
                done.value = error.map { "\($0)" } ?? "done"
            } catch { done.value = "\(error)" }
        }
        try await test.eventually("the accessor did not run") { done.value != nil }
        try test.equal(done.value, "done")
        try test.check(!FileManager.default.fileExists(atPath: package.path), "p.rtfd is still there")

        // Cancelled, and a snapshot for uploading of a directory.
        let coordinator = NSFileCoordinator()
        coordinator.cancel()
        coordinator.coordinate(readingItemAt: file, error: &error) { _ in }
        try test.equal(error?.code, CocoaError.userCancelled.rawValue)
        error = nil
        let directory = test.a.appendingPathComponent("notes", isDirectory: true)
        NSFileCoordinator().coordinate(readingItemAt: directory, options: .forUploading, error: &error) { url in
            let size = (try? FileManager.default.attributesOfItem(atPath: url.path)[.size]) as? NSNumber
            seen.value = size?.intValue ?? 0
        }
        try test.check(error == nil && seen.value > 100, "\(String(describing: error)) \(seen.value)")
    }

    static func presenters(_ test: Scenario) async throws {
        let file = test.a.appendingPathComponent("a.txt")
        try Data("old".utf8).write(to: file)
        let listener = Listener(file)
        let directory = Listener(test.a)
        NSFileCoordinator.addFilePresenter(listener)
        NSFileCoordinator.addFilePresenter(directory)

        // A reader gets what the presenter has not saved yet.
        listener.unsaved.value = "unsaved"
        let seen = Box<String?>(nil)
        NSFileCoordinator().coordinate(readingItemAt: file, error: nil) { url in seen.value = test.text(url) }
        try test.equal(seen.value, "unsaved")
        try await test.eventually("\(listener.heard.value)") { listener.hears("reacquire") }
        // The upload of the file is a reader, too.
        try test.equal(listener.heard.value.first, "relinquish to reader")
        try test.check(listener.hears("save"), "\(listener.heard.value)")

        // Plain programs: in place, atomically, renamed, deleted.
        try test.start(#"echo more >> "$1""#, file.path)
        try await test.eventually("\(listener.heard.value)") { listener.hears("changed") }
        listener.heard.value = []
        try test.start(#"echo new > "$1.tmp"; mv "$1.tmp" "$1""#, file.path)
        try await test.eventually("\(listener.heard.value)") { listener.hears("changed") }
        try test.start(#"mv "$1" "$2""#, file.path, test.a.path + "/b.txt")
        try await test.eventually("\(listener.heard.value)") { listener.hears("moved to b.txt") }
        try await test.eventually("\(directory.heard.value)") { directory.hears("a.txt moved to b.txt") }
        try test.equal(listener.presentedItemURL?.path, test.a.path + "/b.txt")

        // The other device edits, renames and creates.
        listener.heard.value = []
        let there = test.b.appendingPathComponent("b.txt")
        try await test.eventually("b has no b.txt") { test.text(there) == "new\n" }
        try test.start(#"echo there > "$1"; echo new > "$2""#, there.path, test.b.path + "/c.txt")
        try await test.eventually("\(listener.heard.value)") { listener.hears("changed") }
        try await test.eventually("\(directory.heard.value)") { directory.hears("c.txt appeared") }
        try test.start(#"mv "$1" "$2""#, there.path, test.b.path + "/d.txt")
        try await test.eventually("\(listener.heard.value)") { listener.hears("moved to d.txt") }
        try await test.eventually("the bytes did not come") {
            test.text(test.a.appendingPathComponent("d.txt")) == "there\n"
        }

        // A deletion is accommodated.
        NSFileCoordinator().coordinate(
            writingItemAt: test.a.appendingPathComponent("d.txt"), options: .forDeleting, error: nil
        ) { url in try? FileManager.default.removeItem(at: url) }
        try test.check(listener.hears("accommodate deletion"), "\(listener.heard.value)")

        // After its removal it hears nothing.
        NSFileCoordinator.removeFilePresenter(directory)
        directory.heard.value = []
        try test.start(#"echo new > "$1""#, test.a.path + "/e.txt")
        try await test.eventually("no e.txt") { test.text(test.a.appendingPathComponent("e.txt")) == "new\n" }
        try await Task.sleep(nanoseconds: 200_000_000)
        try test.check(!directory.hears("e.txt appeared"), "\(directory.heard.value)")
        NSFileCoordinator.removeFilePresenter(listener)
    }

    /// A presenter of a file that does not exist yet hears of it, whoever makes it and how.
    static func creations(_ test: Scenario) async throws {
        let file = test.a.appendingPathComponent("new.txt")
        let there = test.b.appendingPathComponent("new.txt")
        let ways: [(String, () throws -> Void)] = [
            ("written", { try test.start(#"echo 1 > "$1""#, file.path) }),
            ("renamed", { try test.start(#"echo 1 > "$1.tmp"; mv "$1.tmp" "$1""#, file.path) }),
            ("linked", { try test.start(#"echo 1 > "$1.old"; ln "$1.old" "$1""#, file.path) }),
            ("created as a directory", { try test.start(#"mkdir "$1""#, file.path) }),
            ("saved atomically", { try Data("1".utf8).write(to: file, options: .atomic) }),
            ("coordinated", { try writing(file, options: .forReplacing) { try Data("1".utf8).write(to: $0) } }),
            ("written on b", { try test.start(#"echo 1 > "$1""#, there.path) }),
            ("renamed on b", { try test.start(#"echo 1 > "$1.tmp"; sleep 1; mv "$1.tmp" "$1""#, there.path) }),
        ]
        for (way, create) in ways {
            let listener = Listener(file)
            NSFileCoordinator.addFilePresenter(listener)
            try create()
            try await test.eventually("\(way): \(listener.heard.value)") { listener.hears("changed") }
            try test.check(!listener.hears("moved to new.txt"), "\(way): \(listener.heard.value)")
            NSFileCoordinator.removeFilePresenter(listener)
            // The file last: once it is gone, the next way begins.
            try test.start(#"rm -rf "$1.old" "$1""#, file.path)
            try await test.eventually("b still has it") {
                !FileManager.default.fileExists(atPath: file.path)
                    && !FileManager.default.fileExists(atPath: there.path)
            }
        }
    }

    private static func writing(
        _ url: URL, options: NSFileCoordinator.WritingOptions = [], _ body: (URL) throws -> Void
    ) throws {
        var error: NSError?
        var failure: Error?
        NSFileCoordinator().coordinate(writingItemAt: url, options: options, error: &error) { url in
            do { try body(url) } catch let error { failure = error }
        }
        if let error = error ?? failure { throw error }
    }

    /// A coordinator must keep the two spellings of a rename apart.
    static func caseOnlyRename(_ test: Scenario) async throws {
        let old = test.a.appendingPathComponent("my text")
        let new = test.a.appendingPathComponent("My Text")
        try Data("text".utf8).write(to: old)
        var error: NSError?
        var failure: Error?
        let coordinator = NSFileCoordinator()
        coordinator.coordinate(
            writingItemAt: old, options: .forMoving, writingItemAt: new, options: .forReplacing, error: &error
        ) { from, to in
            do {
                try FileManager.default.moveItem(at: from, to: to)
                coordinator.item(at: from, didMoveTo: to)
            } catch let error { failure = error }
        }
        try test.check(error == nil && failure == nil, "\(String(describing: error ?? failure))")
        let names = try FileManager.default.contentsOfDirectory(atPath: test.a.path)
        try test.check(names.contains("My Text") && !names.contains("my text"), "\(names)")
    }

    /// More threads than processors block in calls; all proceed.
    static func threads(_ test: Scenario) async throws {
        let file = test.a.appendingPathComponent("counter")
        try Data("0".utf8).write(to: file)
        let done = Box(0)
        let count = 64
        for _ in 0..<count {
            Thread.detachNewThread {
                NSFileCoordinator().coordinate(writingItemAt: file, error: nil) { url in
                    let value = Int(test.text(url) ?? "") ?? -1000
                    try? Data("\(value + 1)".utf8).write(to: url)
                }
                done.change { $0 += 1 }
            }
        }
        try await test.eventually("\(done.value) of \(count) threads") { done.value == count }
        try test.equal(test.text(file), "\(count)")
        // Actors on the cooperative pool, whose threads all block.
        let results = await withTaskGroup(of: Bool.self) { group -> Int in
            for _ in 0..<8 { group.addTask { await Writer().write(file) } }
            var sum = 0
            for await hasRun in group { sum += hasRun ? 1 : 0 }
            return sum
        }
        try test.equal(results, 8)
    }

    /// How many claims a program makes in a second, one after the other.
    static func rate(_ test: Scenario) async throws {
        let file = test.a.appendingPathComponent("a.txt")
        try Data("old".utf8).write(to: file)
        let coordinator = NSFileCoordinator()
        let count = 2000
        let start = Date()
        var calls = 0
        for _ in 0..<count { coordinator.coordinate(readingItemAt: file, error: nil) { _ in calls += 1 } }
        let seconds = Date().timeIntervalSince(start)
        try test.equal(calls, count)
        print("\(Int(Double(count) / seconds)) claims in a second")
    }

    private actor Writer {
        func write(_ file: URL) -> Bool {
            var hasRun = false
            NSFileCoordinator().coordinate(writingItemAt: file, error: nil) { _ in hasRun = true }
            return hasRun
        }
    }

    /// The daemon is killed while a claim is held and another one waits: the waiting call fails, and everything works
    /// again once the container is mounted again.
    static func restart(_ test: Scenario) async throws {
        let file = test.a.appendingPathComponent("a.txt")
        try Data("old".utf8).write(to: file)
        let listener = Listener(file)
        NSFileCoordinator.addFilePresenter(listener)
        let waiting = Box<Int?>(nil)
        let isHeld = Box(false)
        let mayEnd = Box(false)
        Thread.detachNewThread {
            NSFileCoordinator(filePresenter: listener).coordinate(writingItemAt: file, error: nil) { _ in
                isHeld.value = true
                while !mayEnd.value { Thread.sleep(forTimeInterval: 0.01) }
            }
        }
        try await test.eventually("the claim was not granted") { isHeld.value }
        Thread.detachNewThread {
            var error: NSError?
            NSFileCoordinator().coordinate(readingItemAt: file, error: &error) { _ in }
            waiting.value = error?.code ?? 0
        }
        try await Task.sleep(nanoseconds: 100_000_000)
        try await test.signal("held", andAwait: "restarted")
        try await test.eventually("the waiting call did not fail") { waiting.value != nil }
        try test.equal(waiting.value, CocoaError.fileLocking.rawValue)
        mayEnd.value = true
        // Claims work at once; the presenter is registered again soon.
        var error: NSError?
        let seen = Box<String?>(nil)
        NSFileCoordinator(filePresenter: listener).coordinate(readingItemAt: file, error: &error) { url in
            seen.value = test.text(url)
        }
        try test.check(error == nil, "\(error!)")
        try test.equal(seen.value, "old")
        listener.heard.value = []
        try await test.eventually("the presenter is not told") {
            try test.start(#"echo more >> "$1""#, file.path)
            return listener.hears("changed")
        }
        NSFileCoordinator.removeFilePresenter(listener)
    }

    /// The daemon is killed, and other programs write before the presenters are registered at the next one.
    static func replacement(_ test: Scenario) async throws {
        let file = test.a.appendingPathComponent("a.txt")
        try Data("old".utf8).write(to: file)
        let untouched = test.a.appendingPathComponent("b.txt")
        try Data("old".utf8).write(to: untouched)
        let (listener, other) = (Listener(file), Listener(untouched))
        NSFileCoordinator.addFilePresenter(listener)
        NSFileCoordinator.addFilePresenter(other)
        for round in 1...3 {
            listener.heard.value = []
            other.heard.value = []
            // These writes wait for the next daemon, and are the first things that it does.
            try await test.signal("ready \(round)", andAwait: "killed \(round)")
            try test.start(#"echo more >> "$1""#, file.path)
            try await test.eventually("\(listener.heard.value)") { listener.hears("changed") }
            // It is registered again.
            listener.heard.value = []
            try await test.eventually("\(listener.heard.value)") {
                try test.start(#"echo more >> "$1""#, file.path)
                return listener.hears("changed")
            }
            try test.check(!other.hears("changed"), "\(other.heard.value)")
        }
        NSFileCoordinator.removeFilePresenter(listener)
        NSFileCoordinator.removeFilePresenter(other)
    }
}
