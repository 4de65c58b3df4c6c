import Ubiquity

/// A program that does everything on the main queue, under an async `main`.
enum MainQueueScenarios {
    /// Implements what a program needs that only shows a file.
    private final class Viewer: NSObject, NSFilePresenter, @unchecked Sendable {
        // Constant, or a box.
        let presentedItemURL: URL?
        var presentedItemOperationQueue: OperationQueue { .main }
        let changes = Box(0)

        init(_ url: URL) { presentedItemURL = url }

        func presentedItemDidChange() { changes.change { $0 += 1 } }
    }

    @MainActor static func mainQueue(_ test: Scenario) async throws {
        for directory in [test.a, test.directory] {
            let url = directory.appendingPathComponent("main.txt")
            let document = DocumentScenarios.TextDocument(fileURL: url)
            document.text.value = "one"
            let states = Box(0)
            let token = NotificationCenter.default.addObserver(
                forName: UIDocument.stateChangedNotification, object: document, queue: .main
            ) { _ in states.change { $0 += 1 } }
            try await finished("not created") { document.save(to: url, for: .forCreating, completionHandler: $0) }

            // Presenters of the main queue are asked by a call on it, in a message of which another call is made.
            let viewer = Viewer(url)
            NSFileCoordinator.addFilePresenter(viewer)
            document.text.value = "two"
            document.updateChangeCount(.done)
            var error: NSError?
            var seen: String?
            NSFileCoordinator().coordinate(readingItemAt: url, error: &error) { seen = test.text($0) }
            try test.check(error == nil, "\(error!)")
            try test.equal(seen, "two")
            NSFileCoordinator().coordinate(writingItemAt: url, error: &error) { try? Data("three".utf8).write(to: $0) }
            try test.check(error == nil, "\(error!)")
            try await eventually("\(viewer.changes.value) changes") { viewer.changes.value > 0 }
            try await eventually("it shows \(document.text.value)") { document.text.value == "three" }

            document.text.value = "four"
            document.updateChangeCount(.done)
            try await finished("not closed") { document.close(completionHandler: $0) }
            try test.equal(test.text(url), "four")
            try await finished("not opened") { document.open(completionHandler: $0) }
            try await finished("not closed") { document.close(completionHandler: $0) }
            try await eventually("\(states.value) changes of state") { states.value >= 4 }
            NSFileCoordinator.removeFilePresenter(viewer)
            NotificationCenter.default.removeObserver(token)
        }
    }

    @MainActor private static func eventually(
        _ failure: @autoclosure () -> String, _ condition: () throws -> Bool
    ) async throws {
        for _ in 0..<2_000 {
            if try condition() { return }
            try await Task.sleep(nanoseconds: 10_000_000)
        }
        throw Scenario.Failure(description: failure())
    }

    /// Waits for the handler of a document's call.
    @MainActor private static func finished(_ failure: String, _ body: (@escaping (Bool) -> Void) -> Void) async throws
    {
        let succeeded = await withCheckedContinuation { (done: CheckedContinuation<Bool, Never>) in
            body { done.resume(returning: $0) }
        }
        guard succeeded else { throw Scenario.Failure(description: failure) }
    }
}
