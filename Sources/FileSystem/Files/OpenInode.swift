import Model
import Replica
import Synchronization

/// A file that someone has open: where its bytes are, who writes, and how it was opened.
///
///     here         descriptor               the backing file
///     not here     —                        reads go through the download, writes wait for it
///     evicted      formerDescriptor         not here any more, but those who had it open keep reading the removed file
final class OpenInode: Sendable {
    let number: InodeNumber

    /// How the kernel gets at the bytes. Chosen at the first open and kept until the last close, since the kernel refuses to mix
    /// pass-through and cached opens of one inode.
    enum Access: Sendable { case direct, cached, passthrough }

    private struct State {
        var descriptor: Descriptor?
        var formerDescriptor: Descriptor?
        var handleCount = 0
        var writerCount = 0
        var writesInFlight = 0
        /// Whether the index knows that the bytes were changed since the last upload began.
        var isMarked = false
        /// How many times it came to know that.
        var markCount: UInt64 = 0
        /// How many changes of size and times were made.
        var changeCount: UInt64 = 0
        /// How many of them the index has committed.
        var recordedCount: UInt64 = 0
        /// What the index learned last.
        var recorded: BackingStatus?
        /// The size that the index, on the disk for good, has of the file, with the mark; `nil` when something of it may be newer.
        var durableSize: Int64?
        var lastWrite: Duration?
    }

    let access: Access
    private let state: Mutex<State>

    /// - Parameter isMarked: Whether the index counts the bytes as changed already, as it does those of a file that was just made.
    init(number: InodeNumber, descriptor: Descriptor?, access: Access, isMarked: Bool = false) {
        self.number = number
        self.access = access
        state = Mutex(State(descriptor: descriptor, isMarked: isMarked))
    }

    func opened(writable: Bool) {
        state.withLock { state in
            state.handleCount += 1
            if writable { state.writerCount += 1 }
        }
    }

    /// - Returns: Whether nobody has it open any more.
    func closed(writable: Bool) -> Bool {
        state.withLock { state in
            state.handleCount -= 1
            if writable { state.writerCount -= 1 }
            return state.handleCount == 0
        }
    }

    var hasWriters: Bool { state.withLock { $0.writerCount > 0 } }

    /// Where writes go; `nil` while the bytes are not here.
    var descriptor: Descriptor? { state.withLock { $0.descriptor } }

    /// Where reads come from; `nil` while the bytes are not here.
    var readable: Descriptor? { state.withLock { $0.descriptor ?? $0.formerDescriptor } }

    /// The bytes came here.
    func arrived(_ descriptor: Descriptor) {
        state.withLock { state in
            state.durableSize = nil
            state.descriptor = descriptor
            state.formerDescriptor = nil
        }
    }

    /// The bytes are another file's that are not here: nobody has read or written any of this one.
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

    /// The bytes were let go; the readers keep theirs.
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
    /// - Parameter mark: Tells the index that the bytes are about to change; called when it does not know yet.
    /// - Returns: Where to write, or `nil` while the bytes are not here.
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

    /// Someone has begun to make the file: it is not quiet yet, although nothing is written.
    func noteActivity(at uptime: Duration) { state.withLock { $0.lastWrite = uptime } }

    /// Looks whether the bytes changed without a write that came here, through a mapping that the kernel passed on to the backing file.
    func noticeMappedWrites() throws(FileError) {
        guard access == .passthrough, let descriptor else { return }
        let status = try BackingStatus(of: descriptor)
        state.withLock { state in
            if state.recorded?.hasSameBytes(as: status) != true { state.changeCount += 1 }
        }
    }

    /// What the index must be told of: where to look, and which change was the last by now. `nil` when it knows all.
    var unrecorded: (descriptor: Descriptor, change: UInt64)? {
        state.withLock { state in
            guard state.changeCount != state.recordedCount, let descriptor = state.descriptor else { return nil }
            return (descriptor, state.changeCount)
        }
    }

    /// The index has committed size and times as they were after a change, or later.
    ///
    /// Called after the commit, never before: until then, whoever asks for the size is answered from the file.
    func noteRecorded(_ status: BackingStatus, change: UInt64) {
        state.withLock { state in
            state.recordedCount = max(state.recordedCount, change)
            state.recorded = status
        }
    }

    /// The backing file whose size and times are newer than the index's, if any.
    var unrecordedDescriptor: Descriptor? {
        state.withLock { state in
            state.changeCount != state.recordedCount || state.writesInFlight > 0
                || (access == .passthrough && state.writerCount > 0)
                ? state.descriptor : nil
        }
    }

    /// Whether mapped pages may be written without the kernel telling us or its own attributes.
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

    // MARK: What fdatasync needs of the index

    /// A state of the bytes that the index knows.
    struct RecordedBytes {
        var size: Int64
        fileprivate var markCount: UInt64
    }

    /// What ``noteDurable(_:)`` is to be told of after the index was synced; `nil` when the index does not count the bytes as
    /// changed, or knows another state of them.
    var recordedBytes: RecordedBytes? {
        state.withLock { state in
            guard state.isMarked, state.changeCount == state.recordedCount, let recorded = state.recorded else {
                return nil
            }
            return RecordedBytes(size: recorded.size, markCount: state.markCount)
        }
    }

    /// The index is on the disk for good, as it was when ``recordedBytes`` was read or newer.
    func noteDurable(_ bytes: RecordedBytes) {
        state.withLock { state in
            // After an upload that began meanwhile it was another mark.
            if state.isMarked, state.markCount == bytes.markCount { state.durableSize = bytes.size }
        }
    }

    /// Whether a power failure leaves an index that has this size and counts the bytes as changed: then they alone need a sync.
    func isDurable(size: Int64) -> Bool { state.withLock { $0.isMarked && $0.durableSize == size } }
}
