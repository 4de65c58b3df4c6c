/// An object that shows or edits a file or directory, and is consulted and notified about it.
///
/// Register it with ``NSFileCoordinator/addFilePresenter(_:)``. Its messages arrive on ``presentedItemOperationQueue``,
/// in order. The questions (relinquish, save, accommodate) hold up another program's claim until they are answered.
///
/// All requirements but ``presentedItemURL`` and ``presentedItemOperationQueue`` have default implementations, which
/// answer at once. A question can be implemented with a completion handler or as an async function, not both.
///
/// Differences from Apple's: Swift on Linux cannot find out which messages a class implements, so every presenter gets
/// all of them. Changes by plain programs are reported too, moves included.
@preconcurrency
public protocol NSFilePresenter: NSObjectProtocol {
    /// The presented item; `nil` while it does not exist yet. Read when the presenter is added, and again after each
    /// coordinated write that was made with a coordinator of this presenter. Called on any thread.
    var presentedItemURL: URL? { get }

    /// The queue of the presenter's messages: a serial one keeps them in order. Called on any thread.
    var presentedItemOperationQueue: OperationQueue { get }

    /// The item that a related item belongs to; not used.
    var primaryPresentedItemURL: URL? { get }

    /// The attributes of ``presentedItemDidChangeUbiquityAttributes(_:)``; read when the presenter is added. All
    /// ubiquity attributes unless implemented.
    var observedPresentedItemUbiquityAttributes: Set<URLResourceKey> { get }

    /// A reader waits: stop writing, call `reader`, and pass it a function to be called when the reader has finished.
    func relinquishPresentedItem(toReader reader: @escaping @Sendable ((@Sendable () -> Void)?) -> Void)

    /// A writer waits: stop using the item, call `writer`, and pass it a function to be called when the writer has
    /// finished.
    func relinquishPresentedItem(toWriter writer: @escaping @Sendable ((@Sendable () -> Void)?) -> Void)

    /// A reader waits for unsaved changes: write them and call the handler. An error fails the reader's call.
    func savePresentedItemChanges(completionHandler: @escaping @Sendable ((any Error)?) -> Void)
    func savePresentedItemChanges() async throws

    /// The item is about to be deleted: close it. An error fails the deleter's call.
    func accommodatePresentedItemDeletion(completionHandler: @escaping @Sendable ((any Error)?) -> Void)
    func accommodatePresentedItemDeletion() async throws

    /// The local bytes are about to be removed: remove this presenter, or answer with an error, which fails the
    /// eviction. The default answers with `CocoaError.featureUnsupported`.
    func accommodatePresentedItemEviction(completionHandler: @escaping @Sendable ((any Error)?) -> Void)
    func accommodatePresentedItemEviction() async throws

    /// The item was moved or renamed, or a directory above it.
    func presentedItemDidMove(to newURL: URL)

    /// The content or the attributes changed; compare modification dates before reading it again.
    func presentedItemDidChange()

    /// Ubiquity attributes such as `ubiquitousItemDownloadingStatusKey` changed.
    func presentedItemDidChangeUbiquityAttributes(_ attributes: Set<URLResourceKey>)

    /// A version was added, for example by a conflict.
    func presentedItemDidGain(_ version: NSFileVersion)

    /// A version was removed.
    func presentedItemDidLose(_ version: NSFileVersion)

    /// A conflict version was resolved.
    func presentedItemDidResolveConflict(_ version: NSFileVersion)

    /// Something in the presented file package is about to be deleted.
    func accommodatePresentedSubitemDeletion(
        at url: URL, completionHandler: @escaping @Sendable ((any Error)?) -> Void)
    func accommodatePresentedSubitemDeletion(at url: URL) async throws

    /// An item appeared in the presented directory, at any depth.
    func presentedSubitemDidAppear(at url: URL)

    /// An item in the presented directory was moved or renamed.
    func presentedSubitem(at oldURL: URL, didMoveTo newURL: URL)

    /// An item in the presented directory changed or was deleted.
    func presentedSubitemDidChange(at url: URL)

    /// An item in the presented directory got a version. The default calls ``presentedItemDidGain(_:)``.
    func presentedSubitem(at url: URL, didGain version: NSFileVersion)

    /// An item in the presented directory lost a version. The default calls ``presentedItemDidLose(_:)``.
    func presentedSubitem(at url: URL, didLose version: NSFileVersion)

    /// A conflict of an item in the presented directory was resolved. The default calls
    /// ``presentedItemDidResolveConflict(_:)``.
    func presentedSubitem(at url: URL, didResolve version: NSFileVersion)
}
