package import Model
import Synchronization

/// The number of an open file, which the kernel passes with each request on it.
package struct HandleID: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// Every open file of the mount, by handle and by inode.
package final class OpenFiles: Sendable {
    private struct State {
        var handles: [HandleID: OpenHandle] = [:]
        var inodes: [InodeNumber: OpenInode] = [:]
        var lastHandle: UInt64 = 0
        /// How many times size and times of an open file were recorded in the index.
        var recordingCount: UInt64 = 0
        /// The inodes of the latest recordings, in a ring.
        var recordings: [InodeNumber] = []
    }

    /// How many recordings are remembered.
    static let recordingLimit = 256

    private let state = Mutex(State())
    /// Where the handles are kept for the next daemon; `nil` where the mount ends with this one.
    private let slots: HandleSlots?

    init(slots: HandleSlots? = nil) { self.slots = slots }

    func handle(_ id: HandleID) throws(FileError) -> OpenHandle {
        guard let handle = state.withLock({ $0.handles[id] }) else {
            throw FileError(.badHandle, "no open file has the handle \(id.rawValue)")
        }
        return handle
    }

    package func inode(_ number: InodeNumber) -> OpenInode? {
        state.withLock { $0.inodes[number] }
    }

    package func handles(of number: InodeNumber) -> [OpenHandle] {
        state.withLock { $0.handles.values.filter { $0.inode.number == number } }
    }

    /// The handles of an inode whose release may be under way.
    func closingHandles(of number: InodeNumber) -> [OpenHandle] {
        state.withLock { $0.handles.values.filter { $0.inode.number == number && $0.mayBeClosing } }
    }

    /// Every open inode.
    var openInodes: [OpenInode] {
        state.withLock { Array($0.inodes.values) }
    }

    /// A number for a handle, which may wait for its turn before it is added.
    func newID() -> HandleID {
        state.withLock { state in
            state.lastHandle += 1
            return HandleID(rawValue: state.lastHandle)
        }
    }

    /// Adds a handle, and its inode if this is the first handle.
    ///
    /// - Parameters:
    ///   - id: From ``newID()``.
    ///   - opener: Who opens it, by which request.
    func add(
        _ id: HandleID, _ number: InodeNumber, flags: Int32, by opener: Caller, makeInode: () -> OpenInode
    ) -> OpenHandle {
        state.withLock { state in add(id, state.inodes[number] ?? makeInode(), flags: flags, by: opener, to: &state) }
    }

    /// Whether the inode is not open, and a condition holds, which is asked for while nobody can open it.
    func isNotOpen(_ number: InodeNumber, and condition: () -> Bool) -> Bool {
        state.withLock { state in state.inodes[number] == nil && condition() }
    }

    /// Adds a handle to an open inode; `nil` if the inode is not, or no longer, open.
    func addToOpen(_ id: HandleID, _ number: InodeNumber, flags: Int32, by opener: Caller) -> OpenHandle? {
        state.withLock { state in
            state.inodes[number].map { add(id, $0, flags: flags, by: opener, to: &state) }
        }
    }

    private func add(
        _ id: HandleID, _ inode: OpenInode, flags: Int32, by opener: Caller, to state: inout State
    ) -> OpenHandle {
        let slot = slots?.insert(
            HandleSlots.Record(handle: id, inode: inode.number, flags: flags, access: inode.access, caller: opener))
        let handle = OpenHandle(id: id, inode: inode, flags: flags, opener: opener, slot: slot, of: slots)
        Self.add(handle, to: &state)
        return handle
    }

    private static func add(_ handle: OpenHandle, to state: inout State) {
        state.inodes[handle.inode.number] = handle.inode
        state.handles[handle.id] = handle
        handle.inode.opened(writable: handle.isWritable)
    }

    // MARK: Handles of the daemon before

    /// Adds a handle that the kernel has from the daemon before, and its inode if this is the first of them.
    func restore(_ record: HandleSlots.Record, _ slot: HandleSlots.Slot, makeInode: () -> OpenInode) -> OpenHandle {
        state.withLock { state in
            state.lastHandle = max(state.lastHandle, record.handle.rawValue)
            let handle = OpenHandle(
                id: record.handle, inode: state.inodes[record.inode] ?? makeInode(), flags: record.flags,
                opener: record.caller, slot: slot, of: slots)
            Self.add(handle, to: &state)
            return handle
        }
    }

    /// The handles that a request has opened: where it comes again, the kernel has none of them.
    func handles(openedBy request: RequestNumber) -> [OpenHandle] {
        state.withLock { $0.handles.values.filter { $0.opener.request?.rawValue == request.rawValue } }
    }

    /// Keeps the number of the backing file that a handle holds open for the kernel; 0 when it does no longer.
    func note(backing: Int32, of id: HandleID) {
        guard let slots, let slot = state.withLock({ $0.handles[id] })?.slot else { return }
        slots.note(backing: backing, in: slot)
    }

    /// A file was created without a name.
    func noteNameless(_ id: HandleID) {
        guard let slots, let slot = state.withLock({ $0.handles[id] })?.slot else { return }
        slots.noteNameless(in: slot)
    }

    /// A position among the recordings, for ``isCurrent(_:since:)``.
    var recordingCount: UInt64 { state.withLock { $0.recordingCount } }

    /// The index has committed the size and times of an open file.
    func noteRecording(of number: InodeNumber) {
        state.withLock { state in
            if state.recordings.count < Self.recordingLimit {
                state.recordings.append(number)
            } else {
                state.recordings[Int(state.recordingCount % UInt64(Self.recordingLimit))] = number
            }
            state.recordingCount += 1
        }
    }

    /// Whether the index's answer about a file after a moment is complete: the file is not open, and nothing was
    /// recorded since then that the answer could have missed.
    func isCurrent(_ number: InodeNumber, since moment: UInt64) -> Bool {
        state.withLock { state in
            guard state.inodes[number] == nil else { return false }
            if state.recordingCount == moment { return true }
            guard state.recordingCount - moment < UInt64(Self.recordingLimit) else { return false }
            return (moment..<state.recordingCount).allSatisfy {
                state.recordings[Int($0 % UInt64(Self.recordingLimit))] != number
            }
        }
    }

    /// Removes a handle.
    /// - Returns: Whether it was the inode's last.
    func remove(_ handle: OpenHandle) -> Bool {
        state.withLock { state in
            guard state.handles.removeValue(forKey: handle.id) != nil else { return false }
            if let slot = handle.slot { slots?.remove(slot) }
            let isLast = handle.inode.closed(writable: handle.isWritable, wasClosing: handle.mayBeClosing)
            if isLast { state.inodes[handle.inode.number] = nil }
            return isLast
        }
    }
}
