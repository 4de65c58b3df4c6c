import Model
import Synchronization

/// Finds the items of containers that match a predicate, and follows their changes. Nothing is downloaded.
///
/// ``start()`` begins the gathering phase: `NSMetadataQueryDidStartGathering`, `NSMetadataQueryGatheringProgress` as
/// results are found, and `NSMetadataQueryDidFinishGathering` once. Then `NSMetadataQueryDidUpdate` reports changes, at
/// most one notification in each ``notificationBatchingInterval``, until ``stop()``. Their object is the query. Results
/// change only together with a notification.
///
/// When the daemon of a container ends, its results stay; when it is back, one update reports what has changed.
///
/// Differences from Apple's: only mounted containers are searched, so a URL outside of them and a local scope give no
/// results. Containers that are mounted after the start are not searched. Notifications are posted on
/// ``operationQueue``, or on the main queue, whichever thread called ``start()``. A file package is one result: what is
/// in it is found only by a query whose scope is the package or a directory in it. May be used from any thread.
open class NSMetadataQuery: NSObject, @unchecked Sendable {
    // Unchecked, since an open class cannot be checked, and predicates, scopes and descriptors are not declared
    // Sendable: all state is behind the mutex.
    private struct State: @unchecked Sendable {
        var predicate: NSPredicate?
        var scopes: [Any] = []
        var searchItems: [Any]?
        var sortDescriptors: [NSSortDescriptor] = []
        var valueListAttributes: [String] = []
        var groupingAttributes: [String] = []
        var batchingInterval: TimeInterval = 1
        var operationQueue: OperationQueue?
        weak var delegate: (any NSMetadataQueryDelegate)?
        /// The last run; its results stay after the end.
        var run: MetadataQueryRun?
        var isStarted = false
        var isStopped = false
        /// Kept for the next run.
        var disableCount = 0
    }

    private let state = Mutex(State())
    private let stream: ItemStream
    private let resolve: @Sendable ([MetadataScope.Kind]) -> [MetadataScope]

    /// Creates a query without a predicate and scopes.
    public override convenience init() {
        self.init(stream: .daemon, resolve: { MetadataScope.resolve($0) })
    }

    /// For tests without a daemon.
    init(stream: ItemStream, resolve: @escaping @Sendable ([MetadataScope.Kind]) -> [MetadataScope]) {
        self.stream = stream
        self.resolve = resolve
        super.init()
    }

    deinit { state.withLock { $0.run }?.stop() }

    // MARK: Settings

    /// What results match; `nil` for all items. Setting it while the query runs restarts the query.
    open var predicate: NSPredicate? {
        get { state.withLock { $0.predicate } }
        set { set { $0.predicate = newValue } }
    }

    /// Where to search: `NSMetadataQueryUbiquitousDocumentsScope`, `NSMetadataQueryUbiquitousDataScope`, URLs, or paths
    /// of directories in containers; empty for everything in the program's containers. Setting it while the query runs
    /// restarts the query.
    ///
    /// - Precondition: The constants of ubiquitous and of local scopes are not mixed.
    open var searchScopes: [Any] {
        get { state.withLock { $0.scopes } }
        set {
            let kinds = newValue.map(MetadataScope.Kind.init)
            precondition(kinds.allSatisfy { $0 != nil }, "a search scope is a constant, a URL or a path")
            let isMixed = kinds.contains { $0?.isUbiquitousConstant == true } && kinds.contains { $0?.isLocal == true }
            precondition(!isMixed, "ubiquitous and local search scopes cannot be mixed")
            set { $0.scopes = newValue }
        }
    }

    /// The items or URLs to search in; `nil` for all items of the scopes. Setting it while the query runs restarts it.
    open var searchItems: [Any]? {
        get { state.withLock { $0.searchItems } }
        set { set { $0.searchItems = newValue } }
    }

    /// The order of the results; without descriptors, the order in which they were found. Setting it while the query
    /// runs restarts the query.
    open var sortDescriptors: [NSSortDescriptor] {
        get { state.withLock { $0.sortDescriptors } }
        set { set { $0.sortDescriptors = newValue } }
    }

    /// The attributes of ``valueLists``; none unless set.
    open var valueListAttributes: [String] {
        get { state.withLock { $0.valueListAttributes } }
        set { state.withLock { $0.valueListAttributes = newValue } }
    }

    /// The attributes of ``groupedResults``; none unless set.
    open var groupingAttributes: [String] {
        get { state.withLock { $0.groupingAttributes } }
        set { state.withLock { $0.groupingAttributes = newValue } }
    }

    /// The least time between two notifications with changes, in seconds; 1 unless set.
    open var notificationBatchingInterval: TimeInterval {
        get { state.withLock { $0.batchingInterval } }
        set {
            let run = state.withLock { state in
                state.batchingInterval = newValue
                return state.run
            }
            run?.setBatchingInterval(.seconds(max(0, newValue)))
        }
    }

    /// Where notifications are posted, and the delegate is called; `nil` for the main queue.
    open var operationQueue: OperationQueue? {
        get { state.withLock { $0.operationQueue } }
        set { state.withLock { $0.operationQueue = newValue } }
    }

    /// Not retained.
    open var delegate: (any NSMetadataQueryDelegate)? {
        get { state.withLock { $0.delegate } }
        set { state.withLock { $0.delegate = newValue } }
    }

    private func set(_ change: (inout State) -> Void) {
        let isRunning = state.withLock { state in
            change(&state)
            return state.isStarted && !state.isStopped
        }
        guard isRunning else { return }
        stop()
        start()
    }

    // MARK: Running

    /// Starts to gather results, in the background.
    ///
    /// - Returns: `false` if it runs already.
    @discardableResult open func start() -> Bool {
        let run = state.withLock { state -> MetadataQueryRun? in
            guard !state.isStarted || state.isStopped else { return nil }
            let run = MetadataQueryRun(self, Self.settings(of: state), stream: stream, resolve: resolve)
            for _ in 0..<state.disableCount { run.disableUpdates() }
            state.run = run
            state.isStarted = true
            state.isStopped = false
            return run
        }
        run?.start()
        return run != nil
    }

    private static func settings(of state: State) -> MetadataQueryRun.Settings {
        MetadataQueryRun.Settings(
            predicate: state.predicate, scopes: state.scopes.compactMap(MetadataScope.Kind.init),
            paths: state.searchItems.map { items in
                Set(
                    items.compactMap { item in
                        switch item {
                        case let item as NSMetadataItem: item.value(forAttribute: NSMetadataItemPathKey) as? String
                        case let url as URL: url.path
                        case let path as String: path
                        default: nil
                        }
                    }.map(ItemPath.init))
            }, sortDescriptors: state.sortDescriptors, batchingInterval: .seconds(max(0, state.batchingInterval)))
    }

    /// Ends the query without a notification; the results stay as they are.
    open func stop() {
        let run = state.withLock { state -> MetadataQueryRun? in
            guard state.isStarted, !state.isStopped else { return nil }
            state.isStopped = true
            return state.run
        }
        run?.stop()
    }

    /// Whether ``start()`` was called.
    open var isStarted: Bool { state.withLock { $0.isStarted } }

    /// Whether it runs and has not found all results yet.
    open var isGathering: Bool { state.withLock { $0.isStarted && !$0.isStopped ? $0.run : nil }?.isGathering ?? false }

    /// Whether ``stop()`` was called after the start.
    open var isStopped: Bool { state.withLock { $0.isStopped } }

    /// Keeps the results as they are until ``enableUpdates()`` was called as often. Changes are reported afterwards, in
    /// one notification. The end of the gathering phase is not held back.
    open func disableUpdates() {
        state.withLock { state in
            state.disableCount += 1
            return state.run
        }?.disableUpdates()
    }

    /// Undoes one ``disableUpdates()``.
    open func enableUpdates() {
        state.withLock { state in
            state.disableCount = max(0, state.disableCount - 1)
            return state.run
        }?.enableUpdates()
    }

    // MARK: Results

    var rows: [MetadataResults.Row] { current?.rows ?? [] }

    private var current: MetadataResults? { state.withLock { $0.run }?.results }

    /// The number of results.
    open var resultCount: Int { current?.count ?? 0 }

    /// - Precondition: The index is less than ``resultCount``; call ``disableUpdates()`` before reading the count.
    open func result(at idx: Int) -> Any {
        guard let results = current, idx >= 0, idx < results.count else {
            preconditionFailure("there is no result \(idx) of \(resultCount)")
        }
        return results.object(at: idx)
    }

    /// All results, `NSMetadataItem` objects unless the ``delegate`` replaces them. The array does not change.
    open var results: [Any] { current?.objects ?? [] }

    /// - Returns: `NSNotFound` for an object that is no result.
    open func index(ofResult result: Any) -> Int {
        let object = result as AnyObject
        return results.firstIndex { other in
            other as AnyObject === object || (object as? NSObject)?.isEqual(other) == true
        } ?? NSNotFound
    }

    /// The value of an attribute of a result.
    ///
    /// - Precondition: The index is less than ``resultCount``.
    open func value(ofAttribute attrName: String, forResultAt idx: Int) -> Any? {
        guard let results = current, idx >= 0, idx < results.count else {
            preconditionFailure("there is no result \(idx) of \(resultCount)")
        }
        guard let value = results.item(at: idx).value(forAttribute: attrName) else { return nil }
        return delegate?.metadataQuery(self, replacementValueForAttribute: attrName, value: value) ?? value
    }

    /// Calls the block for each result, in order, without disabling updates: the results of now are enumerated.
    ///
    /// - Parameter block: Called with a result, its index, and a pointer to a flag that ends the enumeration.
    open func enumerateResults(_ block: (Any, Int, UnsafeMutablePointer<ObjCBool>) -> Void) {
        enumerateResults(options: [], using: block)
    }

    /// Calls the block for each result: see ``enumerateResults(_:)``.
    ///
    /// - Parameter opts: `.reverse` for the reverse order. `.concurrent` is accepted, and has no effect.
    open func enumerateResults(
        options opts: NSEnumerationOptions = [], using block: (Any, Int, UnsafeMutablePointer<ObjCBool>) -> Void
    ) {
        let results = Array(results.enumerated())
        var stop = ObjCBool(false)
        for (index, result) in opts.contains(.reverse) ? results.reversed() : results where !stop.boolValue {
            block(result, index, &stop)
        }
    }
}
