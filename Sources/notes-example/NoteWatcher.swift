import Ubiquity

/// Prints changes of the notes by another device, another program that coordinates, or a plain one such as `vim`.
///
/// A presenter of a folder is notified of everything in it. Its messages arrive on its queue, one after the other.
final class NoteWatcher: NSObject, NSFilePresenter {
    let presentedItemURL: URL?
    let presentedItemOperationQueue = OperationQueue()
    private let folder: URL
    /// The dates of the edits that were told. Used on the queue of the messages only.
    private var told: [String: Date] = [:]

    init(_ folder: URL) {
        self.folder = folder
        presentedItemURL = folder
        presentedItemOperationQueue.maxConcurrentOperationCount = 1
    }

    /// Blocks until no event is missed.
    func start() { NSFileCoordinator.addFilePresenter(self) }

    /// A presenter is not retained, so it must be removed.
    func stop() { NSFileCoordinator.removeFilePresenter(self) }

    func presentedSubitemDidAppear(at url: URL) { tellEdit("made", url) }

    /// Also told of deletions. An edit of another device is told when it is known, and again when its bytes are here.
    func presentedSubitemDidChange(at url: URL) {
        guard FileManager.default.fileExists(atPath: url.path) else { return tell(url, "was deleted") }
        tellEdit("changed", url)
    }

    func presentedSubitem(at oldURL: URL, didMoveTo newURL: URL) {
        let name = newURL.deletingPathExtension().lastPathComponent
        isNote(oldURL) ? tell(oldURL, "is now \(name)") : tellEdit("made", newURL)
    }

    func presentedSubitem(at url: URL, didGain version: NSFileVersion) {
        guard version.isConflict, !version.isResolved else { return }
        tell(url, "has another version, by \(version.localizedNameOfSavingComputer ?? "?")")
    }

    func presentedSubitem(at url: URL, didResolve version: NSFileVersion) { tell(url, "is no longer in conflict") }

    private func tellEdit(_ what: String, _ url: URL) {
        guard isNote(url), let version = NSFileVersion.currentVersionOfItem(at: url),
            let date = version.modificationDate, told.updateValue(date, forKey: url.lastPathComponent) != date
        else { return }
        tell(url, "was \(what) on \(version.localizedNameOfSavingComputer ?? "?")")
    }

    private func tell(_ url: URL, _ what: String) {
        if isNote(url) { say("[presenter] \(url.deletingPathExtension().lastPathComponent) \(what)") }
    }

    /// Documents are saved by way of files in hidden directories, which are moved.
    private func isNote(_ url: URL) -> Bool {
        url.pathExtension == "txt" && url.deletingLastPathComponent().path == folder.path
    }
}
