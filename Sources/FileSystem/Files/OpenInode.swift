import Model
import Replica
import Synchronization
import Linux

/// An open file: where its bytes are, its writers, and how the kernel accesses it.
///
///     local        descriptor               the backing file
///     not local    —                        reads go through the download, writes wait for it
///     evicted      formerDescriptor         no longer local, but existing handles keep reading the removed file
package final class OpenInode: Sendable {
    let number: InodeNumber
    /// Who opened it first: its descriptor counts among that caller's.
    let opener: Caller

    /// How the kernel accesses the bytes. Decided by the first open and kept until the last close, since the kernel
    /// refuses to mix pass-through and cached opens of one inode.
    package enum Access: Sendable { case direct, cached, passthrough }

    private struct State {
        var descriptor: Descriptor?
        var formerDescriptor: Descriptor?
        var handleCount = 0
        /// How many of them have seen a close(2).
        var closingCount = 0
        /// How many of those are known to stay open: of a copy of the descriptor.
        var heldCount = 0
        var writerCount = 0
        var writesInFlight = 0
        /// Whether the index has recorded that the bytes were changed since the last upload began.
        var isMarked = false
        /// How many times that was recorded.
        var markCount: UInt64 = 0
        /// How many changes of size and times were made.
        var changeCount: UInt64 = 0
        /// How many of them the index has committed.
        var recordedCount: UInt64 = 0
        /// The status last recorded in the index.
        var recorded: BackingStatus?
        /// The file's size in the index on disk, together with the mark; `nil` if either may be newer.
        var durableSize: Int64?
        var lastWrite: Duration?
    }

    package let access: Access
    private let state: Mutex<State>
    private let hasBeenUsed = Atomic(false)

    /// - Parameter isMarked: Whether the index already counts the bytes as changed, as those of a new file.
    init(number: InodeNumber, descriptor: Descriptor?, access: Access, opener: Caller, isMarked: Bool = false) {
        self.number = number
        self.opener = opener
        self.access = access
        state = Mutex(State(descriptor: descriptor, isMarked: isMarked))
    }

    func opened(writable: Bool) {
        state.withLock { state in
            state.handleCount += 1
            if writable { state.writerCount += 1 }
        }
    }

    /// The first close(2) of a handle: its release may be under way.
    func closing() { state.withLock { $0.closingCount += 1 } }

    /// Whether there was a close(2) of every handle, and the releases may be under way.
    var isOnlyClosing: Bool {
        state.withLock { $0.closingCount == $0.handleCount && $0.closingCount > $0.heldCount }
    }

    /// The releases did not come in time: copies of the descriptors are open.
    func noteHeld() { state.withLock { $0.heldCount = $0.closingCount } }

    /// - Parameter wasClosing: Whether ``closing()`` was called for the handle.
    /// - Returns: Whether the inode is no longer open.
    func closed(writable: Bool, wasClosing: Bool) -> Bool {
        state.withLock { state in
            state.handleCount -= 1
            if wasClosing { state.closingCount -= 1 }
            state.heldCount = min(state.heldCount, state.closingCount)
            if writable { state.writerCount -= 1 }
            return state.handleCount == 0
        }
    }

    /// Whether the kernel has dropped the pages that it cached before the inode was opened. It does so before a program
    /// can use the open.
    var isCacheCurrent: Bool { hasBeenUsed.load(ordering: .relaxed) }

    /// A program has used an open of the inode.
    func noteUse() {
        if !isCacheCurrent { hasBeenUsed.store(true, ordering: .relaxed) }
    }

    package var hasWriters: Bool { state.withLock { $0.writerCount > 0 } }

    /// The destination of writes; `nil` while the file is not local.
    var descriptor: Descriptor? { state.withLock { $0.descriptor } }

    /// The source of reads; `nil` while the file is not local.
    var readable: Descriptor? { state.withLock { $0.descriptor ?? $0.formerDescriptor } }

    /// The file became local.
    func arrived(_ descriptor: Descriptor) {
        state.withLock { state in
            state.durableSize = nil
            state.descriptor = descriptor
            state.formerDescriptor = nil
        }
    }

    /// The bytes were replaced by those of another file that is not local: none of this one were read or written.
    func becamePlaceholder() {
        state.withLock { state in
            state.descriptor = nil
            state.formerDescriptor = nil
            state.isMarked = false
            state.durableSize = nil
            state.recordedCount = state.changeCount
        }
    }

    var isBeingWritten: Bool { state.withLock { $0.writesInFlight > 0 } }

    /// The file was evicted; its readers keep the removed backing file.
    func evicted() {
        state.withLock { state in
            state.formerDescriptor = state.descriptor ?? state.formerDescriptor
            state.descriptor = nil
            state.isMarked = false
            state.durableSize = nil
        }
    }

    /// Begins a change of the bytes. Each success is followed by one ``finishWrite(at:)``.
    ///
    /// - Parameter mark: Records in the index that the bytes are about to change; called unless that is recorded
    ///   already.
    /// - Returns: Where to write, or `nil` while the file is not local.
    func beginWrite(mark: () throws(FileError) -> Void) throws(FileError) -> Descriptor? {
        let (descriptor, isMarked) = state.withLock { state -> (Descriptor?, Bool) in
            if state.descriptor != nil { state.writesInFlight += 1 }
            return (state.descriptor, state.isMarked)
        }
        guard let descriptor else { return nil }
        if !isMarked {
            do {
                try mark()
            } catch {
                state.withLock { $0.writesInFlight -= 1 }
                throw error
            }
            state.withLock { state in
                state.isMarked = true
                state.markCount += 1
            }
        }
        return descriptor
    }

    func finishWrite(at uptime: Duration) {
        state.withLock { state in
            state.writesInFlight -= 1
            state.changeCount += 1
            state.lastWrite = uptime
        }
    }

    /// The file is being created: it is not quiet yet, although nothing was written.
    func noteActivity(at uptime: Duration) { state.withLock { $0.lastWrite = uptime } }

    /// Checks whether the bytes changed without a write request, through a mapping that the kernel passed to the
    /// backing file.
    func noticeMappedWrites() throws(FileError) {
        guard access == .passthrough, let descriptor else { return }
        let status = try BackingStatus(of: descriptor)
        state.withLock { state in
            if state.recorded?.hasSameBytes(as: status) != true { state.changeCount += 1 }
        }
    }

    /// The changes that the index must record: the file to query, and its latest change. `nil` when the index is
    /// current.
    var unrecorded: (descriptor: Descriptor, change: UInt64)? {
        state.withLock { state in
            guard state.changeCount != state.recordedCount, let descriptor = state.descriptor else { return nil }
            return (descriptor, state.changeCount)
        }
    }

    /// The index has committed size and times as of a change, or later.
    ///
    /// Called only after the commit: until then, queries of the size are answered from the file.
    func noteRecorded(_ status: BackingStatus, change: UInt64) {
        state.withLock { state in
            state.recordedCount = max(state.recordedCount, change)
            state.recorded = status
        }
    }

    /// The status that the index has recorded last.
    var recordedStatus: BackingStatus? { state.withLock { $0.recorded } }

    /// The backing file if its size and times are newer than the index's.
    var unrecordedDescriptor: Descriptor? {
        state.withLock { state in
            state.changeCount != state.recordedCount || state.writesInFlight > 0
                || (access == .passthrough && state.writerCount > 0)
                ? state.descriptor : nil
        }
    }

    /// Whether mapped pages may be written without notice to us or to the kernel's own attributes.
    var isVolatile: Bool { access == .passthrough && hasWriters }

    /// Prepares an upload of the bytes: from here on the next write marks the file as changed again.
    ///
    /// - Returns: `false` while a write is in flight, or a writer has the file open and wrote less than `quiet` ago.
    func beginUpload(uptime: Duration, quiet: Duration) -> Bool {
        state.withLock { state in
            if state.writesInFlight > 0 { return false }
            if state.writerCount > 0, let lastWrite = state.lastWrite, uptime - lastWrite < quiet { return false }
            state.isMarked = false
            state.durableSize = nil
            return true
        }
    }

    /// Whether no write has begun since ``beginUpload(uptime:quiet:)``: then the next one marks the file, so that a
    /// generation which the index states now is that of the bytes from before it.
    var isUnwritten: Bool { state.withLock { !$0.isMarked && $0.writesInFlight == 0 } }

    // MARK: State for fdatasync

    /// A state of the bytes recorded in the index.
    struct RecordedBytes {
        var size: Int64
        fileprivate var markCount: UInt64
    }

    /// The argument for ``noteDurable(_:)`` after a sync of the index; `nil` when the index does not count the bytes as
    /// changed, or has recorded another state of them.
    var recordedBytes: RecordedBytes? {
        state.withLock { state in
            guard state.isMarked, state.changeCount == state.recordedCount, let recorded = state.recorded else {
                return nil
            }
            return RecordedBytes(size: recorded.size, markCount: state.markCount)
        }
    }

    /// The index is durable as of the time ``recordedBytes`` was read, or later.
    func noteDurable(_ bytes: RecordedBytes) {
        state.withLock { state in
            // An upload that began meanwhile has cleared this mark.
            if state.isMarked, state.markCount == bytes.markCount { state.durableSize = bytes.size }
        }
    }

    /// Whether the index after a power failure has this size and counts the bytes as changed: then only the bytes need
    /// a sync.
    func isDurable(size: Int64) -> Bool { state.withLock { $0.isMarked && $0.durableSize == size } }
}
