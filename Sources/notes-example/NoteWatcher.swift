import Ubiquity

/// Prints changes of the notes by another device, another program that coordinates, or a plain one such as `vim`.
///
/// A presenter of a folder is notified of everything in it. Its messages arrive on its queue, one after the other.
final class NoteWatcher: NSObject, NSFilePresenter {
    let presentedItemURL: URL?
    let presentedItemOperationQueue = OperationQueue()
    private let folder: URL
    /// The dates of the edits that were announced. Used on the queue of the messages only.
    private var announced: [String: Date] = [:]

    init(_ folder: URL) {
        self.folder = folder
        presentedItemURL = folder
        presentedItemOperationQueue.maxConcurrentOperationCount = 1
    }

    /// Blocks until no event is missed.
    func start() { NSFileCoordinator.addFilePresenter(self) }

    /// A presenter is not retained, so it must be removed.
    func stop() { NSFileCoordinator.removeFilePresenter(self) }

    func presentedSubitemDidAppear(at url: URL) { announceEdit("made", url) }

    /// Also called for deletions. An edit of another device is announced when it is known, and again when its bytes are
    /// here.
    func presentedSubitemDidChange(at url: URL) {
        guard FileManager.default.fileExists(atPath: url.path) else { return announce(url, "was deleted") }
        announceEdit("changed", url)
    }

    func presentedSubitem(at oldURL: URL, didMoveTo newURL: URL) {
        let name = newURL.deletingPathExtension().lastPathComponent
        isNote(oldURL) ? announce(oldURL, "is now \(name)") : announceEdit("made", newURL)
    }

    func presentedSubitem(at url: URL, didGain version: NSFileVersion) {
        guard version.isConflict, !version.isResolved else { return }
        announce(url, "has another version, by \(version.localizedNameOfSavingComputer ?? "?")")
    }

    func presentedSubitem(at url: URL, didResolve version: NSFileVersion) { announce(url, "is no longer in conflict") }

    private func announceEdit(_ what: String, _ url: URL) {
        guard isNote(url), let version = NSFileVersion.currentVersionOfItem(at: url),
            let date = version.modificationDate, announced.updateValue(date, forKey: url.lastPathComponent) != date
        else { return }
        announce(url, "was \(what) on \(version.localizedNameOfSavingComputer ?? "?")")
    }

    private func announce(_ url: URL, _ what: String) {
        if isNote(url) { say("[presenter] \(url.deletingPathExtension().lastPathComponent) \(what)") }
    }

    /// Documents are saved by way of files in hidden directories, which are moved.
    private func isNote(_ url: URL) -> Bool {
        url.pathExtension == "txt" && url.deletingLastPathComponent().path == folder.path
    }
}
