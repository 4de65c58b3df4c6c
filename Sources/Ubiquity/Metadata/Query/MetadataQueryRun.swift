import ControlClient
import Dispatch
import Model
import Synchronization

/// A query from its start to its stop: connects ``FollowedContainer``, ``MetadataQueryState`` and ``MetadataResults``.
final class MetadataQueryRun: @unchecked Sendable {
    // Unchecked: `containers` and the predicate are used on `queue` only; everything else is constant or in the mutex.

    /// What a query is started with.
    struct Settings {
        var predicate: NSPredicate?
        var scopes: [MetadataScope.Kind] = []
        /// The paths of `searchItems`.
        var paths: Set<ItemPath>?
        var sortDescriptors: [NSSortDescriptor] = []
        var batchingInterval: Duration = .seconds(1)
    }

    private struct State {
        var machine: MetadataQueryState
        var results: MetadataResults
        /// By the number of the container.
        var mountpoints: [String] = []
        /// Until all results of the gathering phase can be seen, not only until they are known.
        var isGathering = true
        var isStopped = false
    }

    private let settings: Settings
    private let stream: ItemStream
    private let resolve: @Sendable ([MetadataScope.Kind]) -> [MetadataScope]
    private let state: Mutex<State>
    private let queue = DispatchQueue(label: "ubiquity.metadata-query")
    private var containers: [FollowedContainer] = []
    private weak let query: NSMetadataQuery?

    /// Stands for the containers while they are looked up.
    private static let lookup = -1

    init(
        _ query: NSMetadataQuery, _ settings: Settings, stream: ItemStream,
        resolve: @escaping @Sendable ([MetadataScope.Kind]) -> [MetadataScope]
    ) {
        self.query = query
        self.settings = settings
        self.stream = stream
        self.resolve = resolve
        state = Mutex(
            State(
                machine: MetadataQueryState(
                    sources: [Self.lookup], batchingInterval: settings.batchingInterval),
                results: MetadataResults(descriptors: settings.sortDescriptors)))
    }

    var results: MetadataResults { state.withLock { $0.results } }
    var isGathering: Bool { state.withLock { $0.isGathering && !$0.isStopped } }

    // MARK: Events of the program

    func start() {
        change { $0.start(now: .now) }
        queue.async { self.follow() }
    }

    func stop() {
        state.withLock { $0.isStopped = true }
        queue.async {
            for container in self.containers { container.stop() }
            self.containers = []
        }
    }

    func disableUpdates() { state.withLock { $0.machine.disableUpdates() } }

    func enableUpdates() { change { $0.enableUpdates(now: .now) } }

    func setBatchingInterval(_ interval: Duration) { state.withLock { $0.machine.batchingInterval = interval } }

    private var isStopped: Bool { state.withLock { $0.isStopped } }

    private func change(_ body: (inout MetadataQueryState) -> [MetadataQueryState.Effect]) {
        for effect in state.withLock({ $0.isStopped ? [] : body(&$0.machine) }) {
            switch effect {
            case .wait(let duration):
                queue.asyncAfter(deadline: .now() + (duration / .seconds(1))) { [weak self] in
                    self?.change { $0.timerFired(now: .now) }
                }
            case .deliver: (query?.operationQueue ?? .main).addOperation { self.deliver() }
            }
        }
    }

    // MARK: Containers, on `queue`

    private func follow() {
        guard !isStopped else { return }
        containers = resolve(settings.scopes).enumerated().map { number, scope in
            FollowedContainer(scope, number: number, stream: stream)
        }
        let numbers = Set(containers.indices)
        let mountpoints = containers.map(\.scope.mountpoint)
        state.withLock { $0.mountpoints = mountpoints }
        change {
            $0.follow(numbers)
            return $0.gathered(Self.lookup, now: .now)
        }
        for number in containers.indices { connect(number) }
    }

    private func connect(_ number: Int) {
        guard containers.indices.contains(number) else { return }  // stopped meanwhile
        if containers[number].isReconnection { state.withLock { $0.machine.regathers(number) } }
        containers[number].connect { connection, update in
            self.queue.async { self.receive(update, from: number, connection) }
        } onEnd: { connection, _ in
            self.queue.async { self.ended(number, connection) }
        }
    }

    private func receive(_ update: ItemUpdate, from number: Int, _ connection: Int) {
        guard containers.indices.contains(number), containers[number].isCurrent(connection) else { return }
        let container = containers[number]
        for change in container.apply(update) {
            switch change {
            case .present(let key, let status):
                let result = matches(status, in: container.scope) ? status : nil
                self.change { $0.change(key, result, now: .now) }
            case .gone(let key): self.change { $0.change(key, nil, now: .now) }
            }
        }
        if case .gathered = update { self.change { $0.gathered(number, now: .now) } }
    }

    private func ended(_ number: Int, _ connection: Int) {
        guard containers.indices.contains(number), containers[number].isCurrent(connection) else { return }
        let delay = containers[number].ended()
        change { $0.disconnected(number, now: .now) }
        queue.asyncAfter(deadline: .now() + (delay / .seconds(1))) { [weak self] in self?.connect(number) }
    }

    private func matches(_ status: ItemStatus, in scope: MetadataScope) -> Bool {
        guard scope.contains(status), !scope.hides(status, isPackage: ProgramInfo.main.isPackage) else { return false }
        if let paths = settings.paths, !paths.contains(ItemPath(scope.mountpoint).appending(status.path)) {
            return false
        }
        return settings.predicate?.evaluate(with: NSMetadataItem(status, mountpoint: scope.mountpoint)) ?? true
    }

    // MARK: Delivery, on the program's queue

    private func deliver() {
        guard let query else { return stop() }
        let deliveries = state.withLock { $0.isStopped ? [] : $0.machine.beginDelivery(now: .now) }
        for delivery in deliveries {
            guard let changes = publish(delivery, of: query) else { return }
            NotificationCenter.default.post(
                name: delivery.kind.notification, object: query,
                userInfo: delivery.kind.hasItems ? changes.userInfo : nil)
        }
        change { $0.endDelivery(now: .now) }
    }

    /// - Returns: `nil` if the query was stopped.
    private func publish(_ delivery: MetadataQueryState.Delivery, of query: NSMetadataQuery) -> MetadataResults.Changes?
    {
        // Without the lock, since the delegate and sort descriptors are the program's. Deliveries never overlap.
        var (results, mountpoints) = state.withLock { ($0.results, $0.mountpoints) }
        let changes = results.apply(delivery) { key, status in
            NSMetadataItem(status, mountpoint: mountpoints[key.source])
        } replace: { item in
            query.delegate?.metadataQuery(query, replacementObjectForResultObject: item) ?? item
        }
        let isStopped = state.withLock { state in
            guard !state.isStopped else { return true }
            state.results = results
            if delivery.kind == .finished { state.isGathering = false }
            return false
        }
        return isStopped ? nil : changes
    }
}

extension MetadataQueryState.Delivery.Kind {
    fileprivate var notification: NSNotification.Name {
        switch self {
        case .started: .NSMetadataQueryDidStartGathering
        case .progress: .NSMetadataQueryGatheringProgress
        case .finished: .NSMetadataQueryDidFinishGathering
        case .update: .NSMetadataQueryDidUpdate
        }
    }

    fileprivate var hasItems: Bool { self == .progress || self == .update }
}

extension MetadataResults.Changes {
    fileprivate var userInfo: [AnyHashable: Any] {
        [
            NSMetadataQueryUpdateAddedItemsKey: added, NSMetadataQueryUpdateChangedItemsKey: changed,
            NSMetadataQueryUpdateRemovedItemsKey: removed,
        ]
    }
}
