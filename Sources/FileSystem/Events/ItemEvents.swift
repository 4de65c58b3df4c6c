package import Coordination
package import Model
import Replica
import Sync
import Synchronization

/// Publishes changes of items to presenters and followers: changes by plain programs, by other devices and by this
/// engine.
///
/// Without observers, an event costs one load of a flag.
package final class ItemEvents: Sendable {
    /// The most followers at a time.
    static let followerLimit = 256

    /// The origin of a change.
    package enum Origin: Sendable {
        case program(Caller)
        case device(String)
        case engine
    }

    private struct Follower: Sendable {
        let path: String
        let deliver: @Sendable (ItemNews) -> Void
    }

    private struct State {
        var followers: [UInt64: Follower] = [:]
        var last: UInt64 = 0
        /// Who wrote the bytes that are to come of some local files.
        var awaited: [InodeNumber: Origin] = [:]
        /// Those whose newer bytes were here before it was known who wrote them, by the inode that they have now.
        var told: [InodeNumber: InodeNumber] = [:]
    }

    /// The most entries of each of these maps. Beyond it, an event names no origin, or a change is reported twice.
    private static let awaitedLimit = 10_000

    private let state = Mutex(State())
    private let isFollowed = Atomic(false)
    private let lockManager: LockManager
    private let claims: Claims
    package let places: ItemResolver
    private let environment: EngineEnvironment
    private let kernel: any KernelCache

    init(
        lockManager: LockManager, claims: Claims, places: ItemResolver, environment: EngineEnvironment,
        kernel: any KernelCache
    ) {
        self.kernel = kernel
        self.lockManager = lockManager
        self.claims = claims
        self.places = places
        self.environment = environment
    }

    package var hasObservers: Bool { lockManager.hasClaimsOrPresenters || hasFollowers }

    var hasFollowers: Bool { isFollowed.load(ordering: .acquiring) }

    // MARK: Followers

    /// - Throws: ``FileError`` with `busy` at the limit of followers.
    package func admit() throws(FileError) {
        if state.withLock({ $0.followers.count >= Self.followerLimit }) { throw Self.tooManyFollowers }
    }

    private static let tooManyFollowers = FileError(.busy, "there are \(followerLimit) followers of events already")

    /// - Parameter deliver: Takes events at or below the path, and never waits.
    /// - Returns: The value to pass to ``unfollow(_:)``.
    /// - Throws: ``FileError`` with `busy` at the limit of followers.
    package func follow(_ path: String, deliver: @escaping @Sendable (ItemNews) -> Void) throws(FileError) -> UInt64 {
        let id = state.withLock { state -> UInt64? in
            guard state.followers.count < Self.followerLimit else { return nil }
            state.last += 1
            state.followers[state.last] = Follower(path: path, deliver: deliver)
            isFollowed.store(true, ordering: .releasing)
            return state.last
        }
        guard let id else { throw Self.tooManyFollowers }
        deliver(ItemNews(event: .following, path: path, time: environment.now().rfc3339))
        return id
    }

    package func unfollow(_ id: UInt64) {
        state.withLock { state in
            state.followers[id] = nil
            isFollowed.store(!state.followers.isEmpty, ordering: .releasing)
        }
    }

    // MARK: Events

    /// Content or attributes of an item were written.
    package func changed(_ inode: InodeNumber, by origin: Origin) {
        guard hasObservers, let item = try? places.item(inode), item.inode == .root || item.name != nil else { return }
        publish(.changed(item), by: origin)
    }

    /// Newer bytes of a local file are to come.
    func awaits(_ inode: InodeNumber, by origin: Origin) {
        state.withLock { state in
            if state.awaited.count < Self.awaitedLimit { state.awaited[inode] = origin }
        }
    }

    /// The newer bytes of a local file are here, as another inode.
    func arrived(_ old: InodeNumber, as new: InodeNumber) {
        let origin = state.withLock { $0.awaited.removeValue(forKey: old) }
        guard hasObservers, let place = try? places.item(new) else { return }
        superseded(old, by: place)
        guard origin != nil || !noteTold(old, as: new) else { return }
        changed(new, by: origin ?? .engine)
    }

    /// Notes that an inode took the place of another one, and returns whether that was noted before: a quick download ends while the events of the
    /// commit are determined, and either of the two may be the first to tell.
    func noteTold(_ old: InodeNumber, as new: InodeNumber) -> Bool {
        state.withLock { state in
            if state.told.removeValue(forKey: new) == old { return true }
            if state.told.count >= Self.awaitedLimit { state.told = [:] }
            state.told[new] = old
            return false
        }
    }

    /// An item appeared at an empty place.
    func appeared(_ item: ClaimItem, by origin: Origin) {
        lockManager.perform { table, now in table.appeared(item, now: now) }
        publish(.appeared(item), by: origin)
    }

    /// - Parameter replaced: The inode that had the new name, if any.
    func moved(_ from: ClaimItem, to: ClaimItem, replacing replaced: InodeNumber?, by origin: Origin) {
        guard let inode = to.inode else { return }
        let names = names(of: [inode, replaced])
        let (isPresented, awaiting) = lockManager.change { state, now in
            let seen = (state.table.isPresented(from), state.table.presentersAwaiting(to))
            return (seen, state.table.moved(inode, to: to, replacing: replaced, names: names, now: now))
        }
        // An atomic save: reported as a write of the item with that name, since only a temporary file came and went.
        if replaced != nil, !isPresented {
            publish(.deleted(from), by: origin)
            publish(.changed(to), by: origin)
        } else {
            publish(.moved(from: from, to: to), by: origin, awaiting: awaiting)
        }
    }

    /// A name now refers to another inode of the same item.
    package func superseded(_ old: InodeNumber, by new: ClaimItem) {
        guard let inode = new.inode else { return }
        let names = names(of: [inode, old])
        lockManager.perform { table, now in
            table.moved(inode, to: new, replacing: old, isSameItem: true, names: names, now: now)
        }
    }

    func deleted(_ item: ClaimItem, by origin: Origin) {
        if let inode = item.inode {
            let names = names(of: [inode])
            lockManager.perform { table, now in table.disappeared(inode, names: names, now: now) }
        }
        publish(.deleted(item), by: origin)
    }

    /// The places of files by now, under all their names: a hard-linked file that lost one of them is still claimed
    /// and presented at the others.
    private func names(of inodes: [InodeNumber?]) -> [ClaimItem] {
        guard lockManager.hasClaimsOrPresenters else { return [] }
        return inodes.compactMap(\.self).flatMap { inode in
            ((try? places.replica.look { try $0.entries(of: inode) }) ?? []).compactMap { try? places.item($0) }
        }
    }

    package func version(_ change: VersionChange, _ id: String, of inode: InodeNumber, by origin: Origin) {
        guard hasObservers, let item = try? places.item(inode) else { return }
        version(change, id, of: item, by: origin)
    }

    func version(_ change: VersionChange, _ id: String, of item: ClaimItem, by origin: Origin) {
        publish(.version(change, id, item), by: origin)
    }

    /// - Parameter keys: For example `NSURLUbiquitousItemIsUploadedKey`.
    package func ubiquityAttributes(_ keys: Set<String>, of inode: InodeNumber) {
        guard hasObservers, let item = try? places.item(inode), item.name != nil else { return }
        ubiquityAttributes(keys, of: item)
    }

    func ubiquityAttributes(_ keys: Set<String>, of item: ClaimItem) {
        publish(.ubiquityAttributes(keys, item), by: .engine)
    }

    /// Notifies presenters and followers when the kernel shows the change, as a rule: the request that makes it is not
    /// answered yet, and a program that looks at once would see the names and bytes of before. In the order of the
    /// events.
    private func publish(_ event: ItemEvent, by origin: Origin, awaiting: Set<PresenterID> = []) {
        guard hasObservers else { return }
        let notices = lockManager.hasClaimsOrPresenters ? self.notices(of: event, by: origin, awaiting) : []
        let news = hasFollowers ? self.news(of: event, by: origin) : nil
        guard !notices.isEmpty || news != nil else { return }
        kernel.whenCurrent(in: event.directories) { [self] in
            claims.notify(notices)
            if let news { deliver(news) }
        }
    }

    /// Determined at the event: afterwards its claim may be over, and its process gone.
    private func notices(
        of event: ItemEvent, by origin: Origin, _ awaiting: Set<PresenterID>
    ) -> [(presenter: PresenterID, notice: PresenterNotice)] {
        let ancestors: Set<ProcessID> =
            if case .program(let caller) = origin {
                ProcessTable.ancestors(of: ProcessID(ProcessTable.process(ofThread: caller.thread)))
            } else { [] }
        return lockManager.ask { table in
            table.notices(
                of: event, by: table.presenter(behind: ancestors, writing: event.item), awaiting: awaiting)
        }
    }

    /// A transfer started, advanced or ended without effect, or an item was pinned or paused. Presenters are notified
    /// of the outcome of transfers only.
    package func transferred(_ keys: Set<String>, of inode: InodeNumber) {
        guard hasFollowers, let item = try? places.item(inode), inode == .root || item.name != nil else { return }
        let news = news(of: .ubiquityAttributes(keys, item), by: .engine)
        kernel.whenCurrent(in: []) { [self] in deliver(news) }
    }

    private func news(of event: ItemEvent, by origin: Origin) -> ItemNews {
        var news = ItemNews(event, places, time: environment.now().rfc3339)
        switch origin {
        case .program(let caller):
            let process = ProcessTable.process(ofThread: caller.thread)
            news.process = process
            news.origin = ProcessTable.command(of: process)
        case .device(let name): news.origin = name
        case .engine: break
        }
        return news
    }

    private func deliver(_ news: ItemNews) {
        let followers = state.withLock { Array($0.followers.values) }
        for follower in followers where news.isBelow(follower.path) { follower.deliver(news) }
    }
}

extension ItemEvent {
    /// The directories whose names changed.
    fileprivate var directories: [InodeNumber] {
        switch self {
        case .moved(let from, let to): Array(Set([from.parent, to.parent].compactMap(\.self)))
        case .changed(let item), .appeared(let item), .deleted(let item): [item.parent].compactMap(\.self)
        case .version, .ubiquityAttributes: []
        }
    }

    /// The item concerned, as of now.
    var item: ClaimItem {
        switch self {
        case .changed(let item), .appeared(let item), .deleted(let item), .version(_, _, let item),
            .ubiquityAttributes(_, let item):
            item
        case .moved(_, let to): to
        }
    }
}

extension ItemNews {
    fileprivate init(_ event: ItemEvent, _ places: ItemResolver, time: String) {
        let kind: Event =
            switch event {
            case .changed: .changed
            case .appeared: .appeared
            case .moved: .moved
            case .deleted: .deleted
            case .version(.gained, _, _): .versionGained
            case .version(.lost, _, _): .versionLost
            case .version(.resolved, _, _): .versionResolved
            case .ubiquityAttributes: .ubiquityAttributes
            }
        self.init(event: kind, path: places.path(event.item), time: time)
        switch event {
        case .moved(let source, _): from = places.path(source)
        case .version(_, let id, _): version = id
        case .ubiquityAttributes(let keys, _): self.keys = keys.sorted()
        case .changed, .appeared, .deleted: break
        }
    }

    fileprivate func isBelow(_ directory: String) -> Bool {
        func lies(_ path: String) -> Bool {
            directory.isEmpty || path == directory || path.utf8.starts(with: "\(directory)/".utf8)
        }
        return lies(path) || from.map(lies) ?? false
    }
}
