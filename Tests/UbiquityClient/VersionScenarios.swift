import Ubiquity

/// Conflicts of two devices, and NSFileVersion.
enum VersionScenarios {
    /// Makes a conflict: both devices edit while their sync is paused.
    static func makeConflict(_ test: Scenario, _ name: String) async throws {
        let (here, there) = (test.a.appendingPathComponent(name), test.b.appendingPathComponent(name))
        try Data("base".utf8).write(to: here)
        try await test.eventually("b has no \(name)") { test.text(there) == "base" }
        for mount in [test.a, test.b] { try pause(test, mount, true) }
        try Data("from a".utf8).write(to: here)
        try await Task.sleep(nanoseconds: 20_000_000)
        try Data("from b".utf8).write(to: there)
        for mount in [test.a, test.b] { try pause(test, mount, false) }
        try await test.eventually("no conflict of \(name)") {
            NSFileVersion.unresolvedConflictVersionsOfItem(at: here)?.count == 1
                && NSFileVersion.unresolvedConflictVersionsOfItem(at: there)?.count == 1
        }
    }

    private static func pause(_ test: Scenario, _ mount: URL, _ isPaused: Bool) throws {
        try test.run("setfattr", "-n", "user.dewpoint.syncPaused", "-v", isPaused ? "1" : "0", mount.path)
    }

    /// Keeps the losing version instead of the current one, as published samples do.
    static func conflicts(_ test: Scenario) async throws {
        try await makeConflict(test, "c.txt")
        let url = test.a.appendingPathComponent("c.txt")
        let keys: Set<URLResourceKey> = [.ubiquitousItemHasUnresolvedConflictsKey]
        try test.equal(try url.resourceValues(forKeys: keys).ubiquitousItemHasUnresolvedConflicts, true)
        guard let current = NSFileVersion.currentVersionOfItem(at: url),
            let loser = NSFileVersion.unresolvedConflictVersionsOfItem(at: url)?.first
        else { throw Scenario.Failure(description: "no versions") }
        try test.check(loser.isConflict && !loser.isResolved, "\(loser.isConflict) \(loser.isResolved)")
        try test.equal(loser.localizedNameOfSavingComputer, "A")
        try test.check(!current.isConflict && current.url.path == url.path, "\(current.url)")
        try await test.eventually("the current bytes did not come") { test.text(url) == "from b" }
        try test.equal(test.text(loser.url), "from a")
        let again = NSFileVersion.version(itemAt: url, forPersistentIdentifier: loser.persistentIdentifier)
        try test.check(again == loser && again != current, "\(String(describing: again))")

        var error: NSError?
        var failure: Error?
        NSFileCoordinator().coordinate(
            writingItemAt: url, options: .contentIndependentMetadataOnly, error: &error
        ) { url in
            do {
                try loser.replaceItem(at: url)
                try NSFileVersion.removeOtherVersionsOfItem(at: url)
                for version in NSFileVersion.unresolvedConflictVersionsOfItem(at: url) ?? [] {
                    version.isResolved = true
                }
            } catch let error { failure = error }
        }
        if let error = error ?? failure { throw error }
        try test.equal(NSFileVersion.unresolvedConflictVersionsOfItem(at: url)?.count, 0)
        let there = test.b.appendingPathComponent("c.txt")
        try await test.eventually("b has not resolved it") {
            NSFileVersion.unresolvedConflictVersionsOfItem(at: there)?.isEmpty == true && test.text(there) == "from a"
        }
        try test.equal(try there.resourceValues(forKeys: keys).ubiquitousItemHasUnresolvedConflicts, false)
        try test.check(
            NSFileVersion.currentVersionOfItem(at: test.a.appendingPathComponent("none")) == nil, "a version")
    }

    /// Setting `isResolved` alone resolves the conflict and keeps the version; presenters hear of both.
    static func resolved(_ test: Scenario) async throws {
        let listener = VersionListener(test.a)
        NSFileCoordinator.addFilePresenter(listener)
        try await makeConflict(test, "r.txt")
        let url = test.a.appendingPathComponent("r.txt")
        try await test.eventually("\(listener.heard.value)") { listener.heard.value.contains("r.txt gained from a") }
        guard let loser = NSFileVersion.unresolvedConflictVersionsOfItem(at: url)?.first else {
            throw Scenario.Failure(description: "no conflict version")
        }
        loser.isResolved = true
        try test.equal(NSFileVersion.unresolvedConflictVersionsOfItem(at: url)?.count, 0)
        try await test.eventually("\(listener.heard.value)") { listener.heard.value.contains("r.txt resolved") }
        try test.check(NSFileVersion.otherVersionsOfItem(at: url)?.contains(loser) == true, "the version is gone")
        try await test.eventually("b has a conflict still") {
            NSFileVersion.unresolvedConflictVersionsOfItem(at: test.b.appendingPathComponent("r.txt"))?.isEmpty == true
        }
        try loser.remove()
        try test.check(NSFileVersion.otherVersionsOfItem(at: url)?.contains(loser) == false, "the version is there")
        NSFileCoordinator.removeFilePresenter(listener)
    }
}

/// Records versions of everything in a directory.
private final class VersionListener: NSObject, NSFilePresenter, @unchecked Sendable {
    // Constant, or a box.
    let presentedItemURL: URL?
    let presentedItemOperationQueue = OperationQueue()
    let heard = Box<[String]>([])

    init(_ url: URL) { presentedItemURL = url }

    func presentedSubitem(at url: URL, didGain version: NSFileVersion) {
        let text = (try? String(contentsOf: version.url, encoding: .utf8)) ?? "nothing"
        heard.change { $0.append("\(url.lastPathComponent) gained \(text)") }
    }

    func presentedSubitem(at url: URL, didResolve version: NSFileVersion) {
        heard.change { $0.append("\(url.lastPathComponent) resolved") }
    }
}
