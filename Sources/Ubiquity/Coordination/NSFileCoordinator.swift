import Dispatch
import Synchronization

/// Coordinates access to files and directories among the threads and programs of this machine, plain programs
/// included, and with the sync with other devices.
///
/// An accessor runs on the calling thread, while nobody else whose access conflicts runs: other coordinators' accessors
/// wait, plain programs' writes wait or fail with EBUSY, and changes of other devices are applied later. Presenters of
/// the item are asked to save and to relinquish it first. A read of an item that is not downloaded waits for its bytes.
///
/// Claims of items in a container are made at its daemon. Files elsewhere are coordinated within this process only.
///
/// Differences from Apple's: a claim ends with its process; presenters are notified of changes by plain programs too;
/// without a daemon, calls fail with `NSCocoaErrorDomain` 255 (`NSFileLockingError`). Calls block their thread, but
/// never wait for a task: any number of actors may block in them.
open class NSFileCoordinator: NSObject, @unchecked Sendable {
    // Unchecked, since an open class cannot be checked: its state is immutable, or guarded by the mutex.

    /// How a coordinated read reads.
    public struct ReadingOptions: OptionSet, Sendable, Hashable {
        /// The same value as Apple's.
        public let rawValue: UInt
        /// The value with this raw value.
        public init(rawValue: UInt) { self.rawValue = rawValue }

        /// Presenters are not asked to save first.
        public static let withoutChanges = ReadingOptions(rawValue: 1)
        /// The claim, and the URL for the accessor, are those of the link's target.
        public static let resolvesSymbolicLink = ReadingOptions(rawValue: 2)
        /// Only metadata that is available at once is read: nothing is downloaded.
        public static let immediatelyAvailableMetadataOnly = ReadingOptions(rawValue: 4)
        /// The accessor gets the URL of a snapshot, of a directory as a zip archive, and the claim ends before it runs.
        /// The snapshot is removed when the accessor returns.
        public static let forUploading = ReadingOptions(rawValue: 8)
    }

    /// What a coordinated write does; at most one option at a time.
    public struct WritingOptions: OptionSet, Sendable, Hashable {
        /// The same value as Apple's.
        public let rawValue: UInt
        /// The value with this raw value.
        public init(rawValue: UInt) { self.rawValue = rawValue }

        /// Deletes the item: presenters accommodate the deletion. Extends to everything in a directory.
        public static let forDeleting = WritingOptions(rawValue: 1)
        /// Moves or renames the item. Extends to everything in a directory.
        public static let forMoving = WritingOptions(rawValue: 2)
        /// Changes the item while keeping what others wrote: presenters save first.
        public static let forMerging = WritingOptions(rawValue: 4)
        /// Replaces the item with another one, or creates it.
        public static let forReplacing = WritingOptions(rawValue: 8)
        /// Changes only metadata that does not depend on the content, such as attributes or versions: nothing is
        /// downloaded.
        public static let contentIndependentMetadataOnly = WritingOptions(rawValue: 16)
        /// Not in Apple's SDK, but in published samples: a write that neither waits for the download nor starts one.
        public static let forDownloading = WritingOptions(rawValue: 1 << 16)
    }

    private struct State {
        /// `nil` unless it was set.
        var purpose: String?
        var isCancelled = false
    }

    private let reference: WeakPresenter?
    /// The name for the daemon, and the purpose unless there is another one.
    private let name = UUID().uuidString
    private let state = Mutex(State())

    /// Creates a coordinator whose calls do not send messages to a presenter, since they are its own.
    ///
    /// - Parameter filePresenter: Not retained; it may be added later. Its coordinators share a purpose.
    public init(filePresenter: (any NSFilePresenter)?) {
        reference = filePresenter.map { WeakPresenter($0) }
        super.init()
    }

    /// Looked up for each call: a program may make its coordinator before it adds the presenter.
    private var presenter: RegisteredPresenter? {
        reference?.presenter.flatMap { PresenterRegistry.shared.registered($0) }
    }

    /// Creates a coordinator without a presenter.
    public convenience override init() { self.init(filePresenter: nil) }

    /// Identifies calls that belong together: coordinators with the same purpose never wait for each other, in any
    /// process. Unique unless set.
    ///
    /// Set it at most once, to text that is not empty, and not for a coordinator with a presenter: all else is a
    /// programming error, as on Apple's systems.
    open var purposeIdentifier: String {
        get { state.withLock { $0.purpose } ?? presenter?.purpose ?? name }
        set {
            precondition(!newValue.isEmpty, "a purpose identifier must not be empty")
            precondition(reference == nil, "the purpose identifier of a coordinator with a presenter cannot be set")
            state.withLock { state in
                precondition(state.purpose == nil, "the purpose identifier of a coordinator can be set only once")
                state.purpose = newValue
            }
        }
    }

    // MARK: Presenters

    /// Registers a presenter, which from then on is consulted and notified; blocks until it misses no event.
    ///
    /// The presenter is not retained: remove it before it is deallocated, for example in its `deinit`.
    open class func addFilePresenter(_ filePresenter: any NSFilePresenter) {
        PresenterRegistry.shared.add(filePresenter)
    }

    /// Removes a presenter: it gets no more messages, and nobody waits for its answers. Does not block.
    open class func removeFilePresenter(_ filePresenter: any NSFilePresenter) {
        PresenterRegistry.shared.remove(filePresenter)
    }

    /// The presenters that this process has added.
    open class var filePresenters: [any NSFilePresenter] { PresenterRegistry.shared.all }

    // MARK: Access to one or two items

    /// Reads an item under a claim; blocks until it is granted.
    ///
    /// - Parameters:
    ///   - url: The item, which need not exist.
    ///   - outError: Gets the error if the accessor did not run: `NSCocoaErrorDomain` 3072 after ``cancel()``, 255 when
    ///     the claim was revoked or there is no daemon, 4355 when the store of an undownloaded item cannot be reached,
    ///     or the error of a presenter.
    ///   - reader: Runs on this thread, at most once. Use its URL: the item may have moved.
    open func coordinate(
        readingItemAt url: URL, options: ReadingOptions = [], error outError: NSErrorPointer,
        byAccessor reader: (URL) -> Void
    ) {
        access([.init(url: url, access: .reading(options))], outError) { reader($0[0]) }
    }

    /// Writes an item under a claim; blocks until it is granted. See the reading form for the parameters.
    open func coordinate(
        writingItemAt url: URL, options: WritingOptions = [], error outError: NSErrorPointer,
        byAccessor writer: (URL) -> Void
    ) {
        access([.init(url: url, access: .writing(options))], outError) { writer($0[0]) }
    }

    /// Reads one item and writes another one under claims that are granted together.
    open func coordinate(
        readingItemAt readingURL: URL, options readingOptions: ReadingOptions = [], writingItemAt writingURL: URL,
        options writingOptions: WritingOptions = [], error outError: NSErrorPointer,
        byAccessor readerWriter: (URL, URL) -> Void
    ) {
        let items = [
            AccessRequest.Item(url: readingURL, access: .reading(readingOptions)),
            AccessRequest.Item(url: writingURL, access: .writing(writingOptions)),
        ]
        access(items, outError) { readerWriter($0[0], $0[1]) }
    }

    /// Writes two items under claims that are granted together, for example to move one: `forMoving` for the source,
    /// `forReplacing` for the destination.
    open func coordinate(
        writingItemAt url1: URL, options options1: WritingOptions = [], writingItemAt url2: URL,
        options options2: WritingOptions = [], error outError: NSErrorPointer, byAccessor writer: (URL, URL) -> Void
    ) {
        let items = [
            AccessRequest.Item(url: url1, access: .writing(options1)),
            AccessRequest.Item(url: url2, access: .writing(options2)),
        ]
        access(items, outError) { writer($0[0], $0[1]) }
    }

    // MARK: Access to many items

    /// Accesses any number of items under claims that are granted together, without blocking the caller.
    ///
    /// - Parameters:
    ///   - queue: Runs the accessor.
    ///   - accessor: Runs once: with `nil` under the claims, and ``NSFileAccessIntent/url`` of each intent is up to
    ///     date; or with the error, without any claim.
    open func coordinate(
        with intents: [NSFileAccessIntent], queue: OperationQueue,
        byAccessor accessor: @escaping @Sendable ((any Error)?) -> Void
    ) {
        guard !intents.isEmpty else { return queue.addOperation { accessor(nil) } }
        let request = request(intents.map { .init(url: $0.url, access: $0.access) })
        acquire(request) { [self] result in
            queue.addOperation { [self] in
                switch checked(result) {
                case .failure(let error): accessor(error)
                case .success(let grant):
                    for (intent, url) in zip(intents, grant.urls) { intent.url = url }
                    let moves = CoordinationThread.holding(grant.held) { accessor(nil) }
                    let moved = follow(moves)
                    // On the queue of the accessor, which settling blocks.
                    AccessLine.release(grant)
                    for presenter in moved { presenter.settleAfterMove() }
                    settlePresenter(after: request)
                }
            }
        }
    }

    /// Prepares presenters for many accesses at once, which then need not ask them one by one.
    ///
    /// The presenters of the items and of everything in them save and relinquish. No access of others is held off: use
    /// the other methods in the accessor, usually with ``ReadingOptions/withoutChanges``.
    /// - Parameter batchAccessor: Runs on this thread; call the function that it gets when all accesses are done, on
    ///   any thread.
    open func prepare(
        forReadingItemsAt readingURLs: [URL], options readingOptions: ReadingOptions = [],
        writingItemsAt writingURLs: [URL], options writingOptions: WritingOptions = [],
        error outError: NSErrorPointer, byAccessor batchAccessor: (@escaping @Sendable () -> Void) -> Void
    ) {
        precondition(!readingOptions.contains(.resolvesSymbolicLink), "resolvesSymbolicLink is not for prepare")
        precondition(!writingOptions.contains(.forReplacing), "forReplacing is not for prepare")
        let items =
            readingURLs.map { AccessRequest.Item(url: $0, access: .reading(readingOptions)) }
            + writingURLs.map { AccessRequest.Item(url: $0, access: .writing(writingOptions)) }
        guard !items.isEmpty else { return batchAccessor {} }
        var request = request(items)
        request.isBatch = true
        switch checked(acquire(request)) {
        case .failure(let error): outError?.pointee = error
        case .success(let grant):
            let end = BatchEnd(grant)
            let moves = CoordinationThread.holding(grant.held) { batchAccessor { end.end() } }
            for presenter in follow(moves) { presenter.settleAfterMove() }
        }
    }

    // MARK: In accessors

    /// Announces a move. Has no effect: there is no sandbox whose permissions would have to follow.
    open func item(at oldURL: URL, willMoveTo newURL: URL) {}

    /// Reports that the accessor has moved an item, so that its presenters are notified.
    ///
    /// The presenters of the item, and of everything in a directory, are notified after the accessor has returned;
    /// calls that wait for the item follow it.
    ///
    /// Differences from Apple's: moves within a container are reported by the mount, and moves of files elsewhere are
    /// noticed if the destination is an item of the call. So this is needed for moves into a container, out of one and
    /// to another one, of which presenters in this process are notified, and for other destinations.
    open func item(at oldURL: URL, didMoveTo newURL: URL) {
        let domain = CoordinationDomains.domain(of: oldURL)
        guard CoordinationDomains.domain(of: newURL) !== domain else {
            return domain.moved(oldURL, to: newURL, within: CoordinationThread.held, by: presenter?.number)
        }
        let move = DomainMove(from: oldURL, to: newURL, presenter: presenter?.number)
        if CoordinationThread.note(move) { return }
        for presenter in follow([move]) { presenter.settleAfterMove() }
    }

    /// Reports changed ubiquity attributes to the presenters of an item.
    ///
    /// Differences from Apple's: in a container the daemon reports them itself, and this has no effect.
    open func item(at url: URL, didChangeUbiquityAttributes attributes: Set<URLResourceKey>) {
        CoordinationDomains.domain(of: url)
            .changedUbiquityAttributes(Set(attributes.map(\.rawValue)), of: url, by: presenter?.number)
    }

    /// Cancels the calls of this coordinator that wait, which fail with `NSCocoaErrorDomain` 3072, and all later ones.
    /// A running accessor goes on. Returns at once.
    open func cancel() {
        state.withLock { $0.isCancelled = true }
        for domain in CoordinationDomains.all { domain.cancel(coordinator: name) }
    }
}

// MARK: Calls

extension NSFileCoordinator {
    private func access(_ items: [AccessRequest.Item], _ outError: NSErrorPointer, _ body: ([URL]) -> Void) {
        let request = request(items)
        switch checked(acquire(request)) {
        case .failure(let error): outError?.pointee = error
        case .success(var grant):
            if let index = items.firstIndex(where: { $0.access.isForUploading }) {
                upload(index, &grant, outError, body)
            } else {
                let moves = CoordinationThread.holding(grant.held) { body(grant.urls) }
                let moved = follow(moves)
                AccessLine.release(grant)
                for presenter in moved { presenter.settleAfterMove() }
            }
            settlePresenter(after: request)
        }
    }

    /// Makes a snapshot under the claim, and runs the accessor with it afterwards.
    private func upload(
        _ index: Int, _ grant: inout AccessLine.Grant, _ outError: NSErrorPointer, _ body: ([URL]) -> Void
    ) {
        let snapshot: UploadSnapshot
        do {
            snapshot = try UploadSnapshot(of: grant.urls[index])
        } catch {
            AccessLine.release(grant)
            outError?.pointee = error as NSError
            return
        }
        defer { snapshot.remove() }
        grant.urls[index] = snapshot.url
        let isOnlyItem = grant.urls.count == 1
        if isOnlyItem { AccessLine.release(grant) }
        let moves = CoordinationThread.holding(isOnlyItem ? [] : grant.held) { body(grant.urls) }
        let moved = follow(moves)
        if !isOnlyItem { AccessLine.release(grant) }
        for presenter in moved { presenter.settleAfterMove() }
    }

    private func acquire(_ request: AccessRequest) -> Result<AccessLine.Grant, NSError> {
        AccessLine.waiting { completion in acquire(request, completion: completion) }
    }

    /// Takes the claims of a call, at the new places of items that left their domains while it waited.
    private func acquire(
        _ request: AccessRequest, completion: @escaping @Sendable (Result<AccessLine.Grant, NSError>) -> Void
    ) {
        let start = DomainMoves.shared.now
        AccessLine.acquire(request) { [self] result in
            guard case .success(let grant) = result, DomainMoves.shared.now != start,
                let followed = request.followingMoves(since: start)
            else { return completion(result) }
            // Ends when nobody moves the items any more.
            AccessLine.release(grant) { [self] in acquire(followed, completion: completion) }
        }
    }

    /// Before the release of the claims under which items were moved to other domains.
    private func follow(_ moves: [DomainMove]) -> [RegisteredPresenter] {
        var presenters: [RegisteredPresenter] = []
        for move in moves {
            let moved = PresenterRegistry.shared.follow(move)
            presenters += moved.filter { new in !presenters.contains { $0 === new } }
            DomainMoves.shared.note(move.from, to: move.to)
        }
        return presenters
    }

    private func request(_ items: [AccessRequest.Item]) -> AccessRequest {
        let presenter = presenter
        let items = items.map { item in
            var item = item.checked
            if let presenter, presenter.isLeaving { item.url = presenter.current(item.url) }
            return item
        }
        return AccessRequest(
            items: items, coordinator: name, purpose: purposeIdentifier, presenter: presenter?.number,
            fromPresenter: CoordinationThread.presenter, within: CoordinationThread.held)
    }

    /// Cancelled while the claim was on its way to the domain.
    private func checked(_ result: Result<AccessLine.Grant, NSError>) -> Result<AccessLine.Grant, NSError> {
        guard state.withLock({ $0.isCancelled }) else { return result }
        if case .success(let grant) = result { AccessLine.release(grant) {} }
        return .failure(CoordinationFailure.cancelled)
    }

    /// The presenter's item may have been created, or moved, by its own coordinator.
    private func settlePresenter(after request: AccessRequest) {
        guard let presenter, request.items.contains(where: { $0.access.isWriting }) else { return }
        presenter.settle()
    }
}

/// Ends a batch once, whatever thread says so, and however often.
private final class BatchEnd: Sendable {
    private let grant: Mutex<AccessLine.Grant?>

    init(_ grant: AccessLine.Grant) { self.grant = Mutex(grant) }

    func end() {
        let grant = grant.withLock { grant in
            defer { grant = nil }
            return grant
        }
        if let grant { AccessLine.release(grant) {} }
    }
}

extension AccessRequest {
    /// The request for the items at their new places; `nil` when none has left its domain. A place to be replaced stays.
    fileprivate func followingMoves(since moment: UInt64) -> AccessRequest? {
        var request = self
        var hasMoved = false
        for index in items.indices where !items[index].access.isFixed {
            guard let url = DomainMoves.shared.place(of: items[index].url, since: moment) else { continue }
            request.items[index].url = url
            hasMoved = true
        }
        return hasMoved ? request : nil
    }
}

extension AccessRequest.Item {
    /// The item with a symbolic link followed where that was asked for, and a stored version replaced by its item.
    fileprivate var checked: AccessRequest.Item {
        var item = self
        item.url = NSFileVersion.item(ofStored: url) ?? url
        switch access {
        case .reading(let options):
            if options.contains(.resolvesSymbolicLink) { item.url = item.url.resolvingSymlinksInPath() }
        case .writing(let options):
            precondition(
                options.rawValue.nonzeroBitCount <= 1, "a coordinated write has at most one option, not \(options)")
        }
        return item
    }
}

extension NSFileAccessIntent.Access {
    /// Whether the item is a place, whatever is there.
    fileprivate var isFixed: Bool {
        if case .writing(let options) = self { options.contains(.forReplacing) } else { false }
    }

    fileprivate var isForUploading: Bool {
        if case .reading(let options) = self { options.contains(.forUploading) } else { false }
    }
}
