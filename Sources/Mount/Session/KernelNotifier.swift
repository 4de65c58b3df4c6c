import CFuse
import Dispatch
import FileSystem
import Glibc
import Logging
import Model
import Sync
import Synchronization

/// Tells the kernel to invalidate what it has cached, from one thread that holds no request and no lock.
///
/// For each notification the kernel takes the lock of the inode or directory, whose holder may be waiting for one of
/// our replies: sent from a request, a notification could wait for itself, beyond the reach of SIGKILL. Equal pending
/// notifications are merged. When ``pendingLimit`` names are pending, further ones are kept as "everything in that
/// directory", so the queue stays small and nothing is lost.
final class KernelNotifier: KernelCache {
    /// How many names may be pending, each with up to 255 bytes; and how many callers.
    private static let pendingLimit = 100_000

    fileprivate struct EntryKey: Hashable {
        let parent: InodeNumber
        let name: ItemName
    }

    fileprivate struct Waiter {
        let body: @Sendable () -> Void
    }

    fileprivate struct Pending {
        /// The inode that was removed there, or `nil` for a change.
        var entries: [EntryKey: InodeNumber?] = [:]
        /// Whether the bytes changed too.
        var inodes: [InodeNumber: Bool] = [:]
        /// Inodes that the kernel is asked to drop from its cache.
        var released: [InodeNumber] = []
        /// Directories of which every name is to be invalidated.
        var directories: Set<InodeNumber> = []
        /// Called once all this is sent, in order.
        var waiters: [Waiter] = []
        var isEnding = false

        var isEmpty: Bool {
            entries.isEmpty && inodes.isEmpty && released.isEmpty && directories.isEmpty && waiters.isEmpty
        }
    }

    /// How long after a change of names its notices are sent.
    private static let namesPause = Duration.milliseconds(20)

    /// Sends notices in the order of their events; may sleep.
    private let notices = DispatchQueue(label: "dewpoint.notices")
    private let pending = Mutex(Pending())
    /// From the start of the thread to its end.
    private let session = Mutex<SessionPointer?>(nil)
    private let work = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)
    private let names: @Sendable (InodeNumber) throws(FileError) -> [ItemName]
    private let directories: @Sendable () throws(FileError) -> [InodeNumber]
    private let announcer: ChangeAnnouncer?
    private let wire: WireCompletion
    private let logger: Logger

    /// - Parameters:
    ///   - announcer: Announces changes to those who watch; `nil`: nobody does.
    ///   - names: Lists a directory, in case too many of its names are pending.
    ///   - directories: All of them, in case nothing is known to be current.
    init(
        logger: Logger, announcer: ChangeAnnouncer?, wire: WireCompletion,
        names: @escaping @Sendable (InodeNumber) throws(FileError) -> [ItemName],
        directories: @escaping @Sendable () throws(FileError) -> [InodeNumber] = { () throws(FileError) in [] }
    ) {
        self.logger = logger
        self.announcer = announcer
        self.wire = wire
        self.names = names
        self.directories = directories
    }

    func entryChanged(_ name: ItemName, in parent: InodeNumber) {
        enqueue { $0.add(name, in: parent, removed: nil, limit: Self.pendingLimit) }
    }

    func entryRemoved(_ name: ItemName, in parent: InodeNumber, inode: InodeNumber) {
        enqueue { $0.add(name, in: parent, removed: inode, limit: Self.pendingLimit) }
    }

    func publish(_ changes: [TreeChange]) {
        guard let announcer, let number = announcer.note(changes) else { return changes.forEach(invalidate) }
        for change in changes {
            // The helper removes the name: had the kernel removed it before, nobody would see it.
            if case .removed(let entry, _, _) = change {
                entryChanged(entry.name, in: entry.parent)
            } else {
                invalidate(change)
            }
        }
        afterPending { announcer.release(through: number) }
    }

    func inodeChanged(_ inode: InodeNumber, bytes: Bool) {
        enqueue { $0.inodes[inode] = bytes || $0.inodes[inode] ?? false }
    }

    func release(_ inodes: [InodeNumber]) {
        enqueue { $0.released += inodes.prefix(Self.pendingLimit - $0.released.count) }
    }

    func attributesChangedNow(_ inode: InodeNumber) {
        // The lock is not held while the kernel is told. The session outlives the caller, which answers a request.
        session.withLock { $0 }?.notifyChanged(inode, bytes: false)
    }

    func knows(_ inode: InodeNumber) -> Bool { session.withLock { $0 }?.knows(inode) ?? true }

    func everythingChanged() {
        // As above.
        guard let session = session.withLock({ $0 }), !session.notifyEpoch() else { return }
        // An older kernel forgets names one by one.
        do throws(FileError) {
            let all = try directories()
            enqueue { $0.directories.formUnion(all) }
        } catch {
            logger.error(
                "failed to list the directories; the kernel may show old names", metadata: ["error": "\(error)"])
        }
    }

    func drain() async {
        await withCheckedContinuation { continuation in afterPending { continuation.resume() } }
    }

    /// The kernel completes a change of names shortly after it was answered, and does not say when. To wait for the
    /// directory's lock, which it holds until then, is no way: if this process is killed meanwhile, the thread cannot
    /// end before the lock is free, and its holder waits for an answer of this process.
    func whenCurrent(in directories: [InodeNumber], _ body: @escaping @Sendable () -> Void) {
        let due = ContinuousClock.now + (directories.isEmpty ? .zero : Self.namesPause)
        afterPending { [notices] in
            notices.async {
                let rest = due - .now
                if rest > .zero { usleep(UInt32(rest / .microseconds(1))) }
                body()
            }
        }
    }

    private func afterPending(_ body: @escaping @Sendable () -> Void) {
        let (isQueued, wasIdle) = pending.withLock { pending -> (Bool, Bool) in
            if pending.isEnding || pending.waiters.count >= Self.pendingLimit { return (false, false) }
            let wasIdle = pending.isEmpty
            pending.waiters.append(Waiter(body: body))
            return (true, wasIdle)
        }
        if !isQueued { body() }
        if wasIdle { work.signal() }
    }

    private func enqueue(_ add: (inout Pending) -> Void) {
        let wasIdle = pending.withLock { pending in
            if pending.isEnding { return false }
            let wasIdle = pending.isEmpty
            add(&pending)
            return wasIdle
        }
        if wasIdle { work.signal() }
    }

    // MARK: The thread

    /// Starts sending. ``end()`` must be called before the session is destroyed.
    func start(_ session: SessionPointer) {
        self.session.withLock { $0 = session }
        DedicatedThread.start(named: "dewpoint-notify") { [self] in
            WireCompletion.beginNotifying()
            while let batch = nextBatch() { send(batch, to: session) }
            ended.signal()
        }
    }

    /// Ends the thread and waits for it; may be called again. Pending notifications are dropped: the kernel's cache
    /// ends with the mount.
    func end() {
        session.withLock { $0 = nil }
        let waiters = pending.withLock { pending in
            defer { pending = Pending(isEnding: true) }
            return pending.waiters
        }
        for waiter in waiters { waiter.body() }
        work.signal()
        ended.wait()
        ended.signal()
    }

    private var isEnding: Bool { pending.withLock { $0.isEnding } }

    private func nextBatch() -> Pending? {
        work.wait()
        return pending.withLock { pending in
            if pending.isEnding { return nil }
            defer { pending = Pending() }
            return pending
        }
    }

    private func send(_ batch: Pending, to session: SessionPointer) {
        defer {
            for waiter in batch.waiters {
                waiter.body()
            }
        }
        for (entry, removed) in batch.entries {
            if isEnding { return }
            if let removed {
                session.notifyRemoved(entry.name, in: entry.parent, inode: removed)
            } else {
                session.notifyChanged(entry.name, in: entry.parent)
            }
        }
        for (inode, bytes) in batch.inodes {
            if isEnding { return }
            session.notifyChanged(inode, bytes: bytes)
        }
        for directory in batch.directories {
            do throws(FileError) {
                for name in try names(directory) {
                    if isEnding { return }
                    session.notifyChanged(name, in: directory)
                }
            } catch {
                // A directory that was removed has no names left to invalidate.
                if error.code != .notFound {
                    logger.warning(
                        "failed to invalidate a directory entry; the kernel may show old names until it is looked up again",
                        metadata: ["directory": "\(directory)", "error": "\(error)"])
                }
            }
            session.notifyChanged(directory, bytes: false)
        }
        // When no name leads to them any more.
        if !batch.released.isEmpty { session.notifyReleased(batch.released) { wire.notify($0, session.pointer) } }
    }
}

extension KernelNotifier.Pending {
    fileprivate mutating func add(_ name: ItemName, in parent: InodeNumber, removed: InodeNumber?, limit: Int) {
        let key = KernelNotifier.EntryKey(parent: parent, name: name)
        if entries.count < limit || entries[key] != nil {
            entries[key] = .some(removed)
            return
        }
        directories.insert(parent)
        // A removed name is in no listing any more; the kernel learns of it when it queries the inode again.
        if let removed { inodes[removed] = true }
    }
}

/// The session as the notifier uses it.
///
/// `@unchecked Sendable`: libfuse's notification calls may be made from any thread, and both the notifier's thread and
/// the requests that use it end before the session does.
struct SessionPointer: @unchecked Sendable {
    let pointer: OpaquePointer

    // The kernel's answer is not an error of ours: ENOENT says that it has not cached the name or inode, which is just
    // as well.

    func notifyChanged(_ name: ItemName, in parent: InodeNumber) {
        name.string.withUTF8Characters { fuse_lowlevel_notify_inval_entry(pointer, parent.rawValue, $0, $1) }
    }

    func notifyRemoved(_ name: ItemName, in parent: InodeNumber, inode: InodeNumber) {
        let result = name.string.withUTF8Characters {
            fuse_lowlevel_notify_delete(pointer, parent.rawValue, inode.rawValue, $0, $1)
        }
        // A directory with entries cached in the kernel is not dropped by its name alone.
        if result != 0, result != -ENOENT { notifyChanged(name, in: parent) }
    }

    /// `FUSE_NOTIFY_PRUNE` of Linux 6.18, which libfuse does not know. Older kernels refuse it: they drop what they have
    /// cached when they need the memory.
    ///
    /// - Parameter send: Sends it.
    func notifyReleased(_ inodes: [InodeNumber], _ send: (UnsafeRawBufferPointer) -> Void) {
        for start in stride(from: 0, to: inodes.count, by: Self.releasedAtOnce) {
            let numbers = inodes[start..<min(start + Self.releasedAtOnce, inodes.count)]
            // fuse_out_header (length, code, unique), fuse_notify_prune_out (count, padding, spare), the numbers.
            var words: [UInt64] = [
                UInt64(8 * (4 + numbers.count)) | Self.pruneCode << 32, 0, UInt64(numbers.count), 0,
            ]
            words += numbers.map(\.rawValue)
            words.withUnsafeBytes { send($0) }
        }
    }

    private static let pruneCode: UInt64 = 9
    private static let releasedAtOnce = 256

    /// Whether the kernel knows an inode: its attributes are invalidated, if it does.
    func knows(_ inode: InodeNumber) -> Bool {
        fuse_lowlevel_notify_inval_inode(pointer, inode.rawValue, -1, 0) != -ENOENT
    }

    func notifyChanged(_ inode: InodeNumber, bytes: Bool) {
        // A negative offset means: attributes only.
        fuse_lowlevel_notify_inval_inode(pointer, inode.rawValue, bytes ? 0 : -1, 0)
    }
}

extension String {
    @discardableResult
    fileprivate func withUTF8Characters<Result>(_ body: (UnsafePointer<CChar>, Int) -> Result) -> Result {
        let count = utf8.count
        return withCString { body($0, count) }
    }
}
