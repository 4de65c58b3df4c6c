// Of whose import of `struct timespec` the compiler makes use here.
import CFuse
import Dispatch
import FileSystem
import Glibc
import Linux
import Logging
import Model
import Sync
import Synchronization

/// Has the kernel tell those who watch the mount (inotify(7)) of changes that other devices and the daemon made.
///
/// No notification of FUSE does that: only calls on the mount do. They are made by a process of its own, the
/// ``AnnouncementHelper``, one after another, when the changes are applied already. The helper is shown what the names
/// referred to before, and its requests are answered without being carried out.
///
///     changes → AnnouncementPlan → AnnouncementTable → thread → AnnouncementHelper → kernel → Operations+Announcing
final class ChangeAnnouncer: Sendable {
    /// The helper is ended when it has had nothing to do for this long.
    private static let idleTime = DispatchTimeInterval.seconds(60)
    /// How often it may fail in a row before changes are no longer announced.
    private static let failureLimit = 3
    /// How old what is known of the watches may be for changes that are no other device's, in nanoseconds: there may be
    /// hundreds of them in a second.
    private static let watchesAge: UInt64 = 500_000_000
    /// Reading the watches takes milliseconds of a processor where there are many processes. For so many times as long as it
    /// took they are not read again, and a watch that is set meanwhile may miss a change.
    private static let watchesRest: UInt64 = 4
    /// How long the thread may take to end.
    private static let endTimeout = DispatchTimeInterval.seconds(2)

    /// How many files are noted whose newer bytes are to come.
    private static let awaitedLimit = 16_384

    private struct Watches {
        var known = FileWatches()
        /// When they were read, in nanoseconds since the machine started; 0: never.
        var time: UInt64 = 0
        /// The processor's time that took, in nanoseconds: a busy machine is no reason to rest.
        var cost: UInt64 = 0
    }

    private struct Target {
        let mountpoint: String
        let device: UInt64
        /// The name in the root that only the helper is shown.
        let token: ItemName
    }

    private let table = Mutex(AnnouncementTable())
    private let awaited = Mutex<Set<InodeNumber>>([])
    private let watches = Mutex(Watches())
    private let target = Mutex<Target?>(nil)
    /// The number of the helper; 0 without one.
    private let helper = Atomic<pid_t>(0)
    /// Held while the helper is killed or its number is given up, so that no other process with that number is killed.
    private let reaping = Mutex(())
    private let isWaiting = Atomic(false)
    private let isEnding = Atomic(false)
    private let work = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)
    private let tree: AnnouncementPlan.Tree
    private let logger: Logger
    private let noteHelper: @Sendable (pid_t) -> Void
    private let isUnavailable: @Sendable (String) -> Void

    /// - Parameters:
    ///   - noteHelper: Called with the number of each helper that was started.
    ///   - unavailable: Called with the reason when changes can no longer be announced.
    init(
        logger: Logger, tree: AnnouncementPlan.Tree, noteHelper: @escaping @Sendable (pid_t) -> Void = { _ in },
        unavailable: @escaping @Sendable (String) -> Void
    ) {
        self.logger = logger
        self.tree = tree
        self.noteHelper = noteHelper
        isUnavailable = unavailable
    }

    // MARK: Changes

    /// Whether names may be shown to the helper otherwise than to everybody, so that nobody may cache them.
    var isPending: Bool { isWaiting.load(ordering: .acquiring) }

    /// Notes what is to be announced, before the kernel forgets what it has cached of it.
    ///
    /// - Returns: The number for ``release(through:)``; `nil` when nobody watches.
    func note(_ changes: [TreeChange]) -> UInt64? {
        guard let device = target.withLock({ $0?.device }) else { return nil }
        let watches = watches(onDevice: device, maximumAge: changes.areOfNames ? 0 : Self.watchesAge)
        guard !watches.isEmpty else {
            awaited.withLock { $0 = [] }
            return nil
        }
        // The tree is not read under a lock.
        let plan = AnnouncementPlan(changes, watches: watches, tree: tree, awaited: awaited.withLock(\.self))
        awaited.withLock { awaited in
            awaited.subtract(plan.arrived)
            awaited.formUnion(plan.begun.prefix(Self.awaitedLimit - awaited.count))
        }
        guard !plan.calls.isEmpty else { return nil }
        return table.withLock { table in
            // Given up meanwhile: then nobody would make the calls, and the kernel cache nothing from now on.
            guard target.withLock({ $0 }) != nil else { return nil }
            isWaiting.store(true, ordering: .releasing)
            for call in plan.calls { table.append(call) }
            return table.newest
        }
    }

    /// The kernel has forgotten what it had cached of the changes up to a number.
    func release(through number: UInt64) {
        table.withLock { $0.release(through: number) }
        work.signal()
    }

    private func watches(onDevice device: UInt64, maximumAge: UInt64) -> FileWatches {
        let now = DispatchTime.now().uptimeNanoseconds
        let known = watches.withLock { watches in
            let limit = max(maximumAge, Self.watchesRest * watches.cost)
            return watches.time != 0 && now - watches.time < limit ? watches.known : nil
        }
        if let known { return known }
        let start = Self.processorTime
        let read = FileWatches(onDevice: device)
        let cost = Self.processorTime - start
        watches.withLock { $0 = Watches(known: read, time: now, cost: cost) }
        return read
    }

    /// Of this thread, in nanoseconds.
    private static var processorTime: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    // MARK: Requests of the helper

    /// Whether a request is the helper's.
    ///
    /// - Parameter thread: The caller's, as the kernel gives it.
    func isHelper(_ thread: pid_t) -> Bool {
        let helper = helper.load(ordering: .acquiring)
        return helper != 0 && helper == thread
    }

    /// What a name refers to for the helper; `nil` when it is as for everybody.
    func view(of entry: EntryName) -> Announcement.View? {
        if entry.parent == .root, isToken(entry.name) { return .present(Self.directory) }
        guard entry.parent != .announcementDirectory else {
            guard isToken(entry.name), case .replace(_, _, let new)? = current else { return .absent }
            return .present(new)
        }
        return table.withLock { $0.view(of: entry) }
    }

    /// The call that the helper is to make now.
    var current: Announcement.Call? { table.withLock { $0.current?.call } }

    /// Of a virtual inode; `nil` when it is no longer there.
    func attributes(ofVirtual inode: InodeNumber) -> Attributes? {
        if inode == .announcementDirectory { return Self.directory }
        return switch current {
        case .create(_, let attributes)? where attributes.inode == inode: attributes
        case .modify(_, let attributes)? where attributes.inode == inode: attributes
        default: nil
        }
    }

    private func isToken(_ name: ItemName) -> Bool { target.withLock { $0?.token } == name }

    private static let directory = Attributes(
        inode: .announcementDirectory, kind: .directory, mode: 0o700, owner: geteuid(), group: getegid(), linkCount: 2,
        size: 0, blocks: 0, accessed: Timestamp(rawValue: 0), modified: Timestamp(rawValue: 0),
        changed: Timestamp(rawValue: 0))

    // MARK: The thread

    /// - Parameter device: The minor number of the mount's `st_dev`.
    func start(at mountpoint: String, device: UInt64) {
        let token = ".dewpoint-" + (0..<4).map { _ in String(UInt32.random(in: 0...(.max)), radix: 36) }.joined()
        guard let token = try? ItemName(token) else { return }
        target.withLock { $0 = Target(mountpoint: mountpoint, device: device, token: token) }
        DedicatedThread.start(named: "dewpoint-watch") { [self] in
            run()
            ended.signal()
        }
    }

    /// Ends the helper and the thread; may be called again, and without ``start(at:device:)``.
    func end() {
        guard target.withLock({ $0 }) != nil else { return }
        isEnding.store(true, ordering: .releasing)
        reaping.withLock { _ in
            let helper = helper.load(ordering: .acquiring)
            if helper != 0 { kill(helper, SIGKILL) }
        }
        work.signal()
        // A helper that waits for the mount ends with it.
        if ended.wait(timeout: .now() + Self.endTimeout) == .success { ended.signal() }
    }

    private func run() {
        var process: AnnouncementProcess?
        var failures = 0
        defer { process.map(end) }
        while true {
            let isDue = work.wait(timeout: process == nil ? .distantFuture : .now() + Self.idleTime)
            if isEnding.load(ordering: .acquiring) { return }
            if isDue == .timedOut {
                process.map(end)
                process = nil
                continue
            }
            while let announcement = next() {
                if isEnding.load(ordering: .acquiring) { return }
                do throws(AnnouncementProcess.Failure) {
                    if process == nil { process = try start() }
                    try announce(announcement, by: process!)
                    failures = 0
                } catch {
                    process.map(end)
                    process = nil
                    if isEnding.load(ordering: .acquiring) { return }
                    logger.warning(
                        "the helper that announces changes to watching programs failed; some may not be seen",
                        metadata: ["error": "\(error)"])
                    if case .timedOut = error {
                        // Each of the others would wait as long.
                        drop()
                    } else {
                        failures += 1
                    }
                }
                finish(announcement.number)
                if failures >= Self.failureLimit { return giveUp() }
            }
        }
    }

    private func giveUp() {
        target.withLock { $0 = nil }
        drop()
        isUnavailable("the helper process that announces them does not work")
        logger.error("watching programs no longer see the changes of other devices until the next mount")
    }

    private func drop() {
        table.withLock { table in
            table.removeAll()
            isWaiting.store(false, ordering: .releasing)
        }
    }

    /// The next announcement to be made. After the last one, those who watch directories with more changes than could be
    /// kept see that these changed.
    private func next() -> Announcement? {
        while true {
            if let current = table.withLock({ $0.current }) { return current }
            let directories = table.withLock { $0.takeOverflown() }
            if directories.isEmpty {
                settle()
                return nil
            }
            for directory in directories {
                guard let attributes = tree.attributes(directory) else { continue }
                let name = tree.names(directory).first
                if name == nil, directory != .root { continue }
                table.withLock { table in
                    table.append(.touch(name, attributes))
                    table.release(through: table.newest)
                }
            }
        }
    }

    private func finish(_ number: UInt64) {
        table.withLock { $0.finish(number) }
        settle()
    }

    /// When nothing waits, the kernel may cache names again.
    private func settle() {
        table.withLock { table in
            if table.isEmpty { isWaiting.store(false, ordering: .releasing) }
        }
    }

    private func start() throws(AnnouncementProcess.Failure) -> AnnouncementProcess {
        guard let target = target.withLock({ $0 }) else { throw .gone }
        let process = try AnnouncementProcess(
            AnnouncementHelper.arguments(
                mountpoint: target.mountpoint, device: target.device, token: target.token.string))
        noteHelper(process.identifier)
        helper.store(process.identifier, ordering: .releasing)
        do throws(AnnouncementProcess.Failure) {
            let failure = try process.perform(AnnouncementOrder(.verify, []))
            guard failure == 0 else { throw .refused(errno: failure) }
            return process
        } catch {
            end(process)
            throw error
        }
    }

    private func end(_ process: AnnouncementProcess) {
        process.kill()
        process.reap { reaping.withLock { _ in helper.store(0, ordering: .releasing) } }
    }

    private func announce(
        _ announcement: Announcement, by process: AnnouncementProcess
    ) throws(AnnouncementProcess.Failure) {
        guard let order = order(for: announcement.call) else { return }
        let failure = try process.perform(order)
        if failure != 0 {
            // No permission in that directory, or somebody has mounted something there.
            logger.debug(
                "a change was not announced to watching programs",
                metadata: ["call": "\(order.call)", "error": "\(String(cString: strerror(failure)))"])
        }
    }

    // MARK: Paths

    private func order(for call: Announcement.Call) -> AnnouncementOrder? {
        func order(
            _ call: AnnouncementOrder.Call, _ entry: EntryName, to target: EntryName? = nil
        ) -> AnnouncementOrder? {
            guard let path = path(of: entry) else { return nil }
            guard let target else { return AnnouncementOrder(call, path) }
            return self.path(of: target).map { AnnouncementOrder(call, path, to: $0) }
        }
        return switch call {
        case .create(let entry, let attributes):
            switch attributes.kind {
            case .file: order(.createFile, entry)
            case .directory: order(.createDirectory, entry)
            case .symbolicLink: order(.createLink, entry)
            case .fifo, .socket, .characterDevice, .blockDevice: nil
            }
        case .remove(let entry, let attributes):
            order(attributes.kind == .directory ? .removeDirectory : .removeFile, entry)
        case .move(let old, let new, _): order(.move, old, to: new)
        case .replace(let entry, _, _): order(.replace, entry)
        case .modify(let entry, _): order(.modify, entry)
        case .touch(let entry?, _): order(.touch, entry)
        case .touch(nil, _): AnnouncementOrder(.touch, [])
        }
    }

    /// The path by which the helper finds a name.
    ///
    /// - Returns: `nil` when nothing leads there any more.
    private func path(of entry: EntryName) -> [[UInt8]]? {
        var path = [Array(entry.name.string.utf8)]
        var directory = entry.parent
        var seen: Set<InodeNumber> = []
        while directory != .root {
            // Moved meanwhile: then there may seem to be a cycle.
            guard seen.insert(directory).inserted,
                let name = table.withLock({ $0.former(of: directory) }) ?? tree.names(directory).first
            else { return nil }
            path.append(Array(name.name.string.utf8))
            directory = name.parent
        }
        return path.reversed()
    }
}

extension [TreeChange] {
    /// Whether names changed, as by other devices.
    fileprivate var areOfNames: Bool {
        contains { change in
            switch change {
            case .appeared, .removed, .moved, .attributesChanged: true
            case .replaced, .arrived, .inodeChanged: false
            }
        }
    }
}
