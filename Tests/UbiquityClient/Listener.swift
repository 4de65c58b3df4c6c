import Ubiquity

/// A presenter that records what it is asked and told.
final class Listener: NSObject, NSFilePresenter, @unchecked Sendable {
    // Guarded by the boxes.
    private let url: Box<URL?>
    let heard = Box<[String]>([])
    /// Written to the item when it is asked to save.
    let unsaved = Box<String?>(nil)

    var presentedItemURL: URL? { url.value }
    let presentedItemOperationQueue: OperationQueue = {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        return queue
    }()

    init(_ url: URL) { self.url = Box(url) }

    deinit { NSFileCoordinator.removeFilePresenter(self) }

    private func hear(_ message: String) { heard.change { $0.append(message) } }

    func hears(_ message: String) -> Bool { heard.value.contains(message) }

    func relinquishPresentedItem(toReader reader: @escaping @Sendable ((@Sendable () -> Void)?) -> Void) {
        hear("relinquish to reader")
        reader { [weak self] in self?.hear("reacquire") }
    }

    func relinquishPresentedItem(toWriter writer: @escaping @Sendable ((@Sendable () -> Void)?) -> Void) {
        hear("relinquish to writer")
        writer { [weak self] in self?.hear("reacquire") }
    }

    func savePresentedItemChanges(completionHandler: @escaping @Sendable (Error?) -> Void) {
        hear("save")
        guard let text = unsaved.value, let url = presentedItemURL else { return completionHandler(nil) }
        unsaved.value = nil
        var error: NSError?
        var failure: Error?
        NSFileCoordinator(filePresenter: self).coordinate(writingItemAt: url, error: &error) { url in
            do { try Data(text.utf8).write(to: url) } catch let error { failure = error }
        }
        completionHandler(error ?? failure)
    }

    func accommodatePresentedItemDeletion(completionHandler: @escaping @Sendable (Error?) -> Void) {
        hear("accommodate deletion")
        completionHandler(nil)
    }

    func presentedItemDidChange() { hear("changed") }

    func presentedItemDidMove(to newURL: URL) {
        url.value = newURL
        hear("moved to \(newURL.lastPathComponent)")
    }

    func presentedSubitemDidAppear(at url: URL) { hear("\(url.lastPathComponent) appeared") }
    func presentedSubitemDidChange(at url: URL) { hear("\(url.lastPathComponent) changed") }
    func presentedSubitem(at oldURL: URL, didMoveTo newURL: URL) {
        hear("\(oldURL.lastPathComponent) moved to \(newURL.lastPathComponent)")
    }
}
