import Synchronization
import Ubiquity

/// A presenter that records its messages.
final class RecordingPresenter: NSObject, NSFilePresenter, @unchecked Sendable {
    // Constant, or guarded by the mutex.
    let presentedItemURL: URL?
    let presentedItemOperationQueue = OperationQueue()
    private let heard = Mutex<[String]>([])
    private let savingError: NSError?

    init(_ url: URL?, savingError: NSError? = nil) {
        presentedItemURL = url
        self.savingError = savingError
        presentedItemOperationQueue.maxConcurrentOperationCount = 1
        super.init()
    }

    deinit { NSFileCoordinator.removeFilePresenter(self) }

    func hear(_ message: String) { heard.withLock { $0.append(message) } }

    /// Everything so far, once all messages on the queue have been delivered.
    var messages: [String] {
        presentedItemOperationQueue.waitUntilAllOperationsAreFinished()
        return heard.withLock { $0 }
    }

    /// Waits for messages that are sent after a call has returned.
    func messages(count: Int) async throws -> [String] {
        let deadline = ContinuousClock.now + .seconds(20)
        while heard.withLock({ $0.count }) < count, ContinuousClock.now < deadline {
            try await Task.sleep(for: .milliseconds(2))
        }
        return messages
    }

    func relinquishPresentedItem(toReader reader: @escaping @Sendable ((@Sendable () -> Void)?) -> Void) {
        hear("relinquish to reader")
        reader { [weak self] in self?.hear("reacquire") }
    }

    func relinquishPresentedItem(toWriter writer: @escaping @Sendable ((@Sendable () -> Void)?) -> Void) {
        hear("relinquish to writer")
        writer(nil)
    }

    func savePresentedItemChanges(completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
        hear("save")
        completionHandler(savingError)
    }

    func accommodatePresentedItemDeletion(completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
        hear("accommodate deletion")
        completionHandler(nil)
    }

    func presentedItemDidChange() { hear("changed") }
    func presentedItemDidMove(to newURL: URL) { hear("moved to \(newURL.lastPathComponent)") }
    func presentedSubitemDidAppear(at url: URL) { hear("\(url.lastPathComponent) appeared") }
    func presentedSubitemDidChange(at url: URL) { hear("\(url.lastPathComponent) changed") }
    func presentedSubitem(at oldURL: URL, didMoveTo newURL: URL) {
        hear("\(oldURL.lastPathComponent) moved to \(newURL.lastPathComponent)")
    }
}
