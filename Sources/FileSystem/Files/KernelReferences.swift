import Model
import Synchronization

/// The inodes that the kernel may name in a request: those it was given, until it forgets them.
///
/// Each reply that names an inode gives the kernel one reference to it; a FORGET gives some back. Until the last one is
/// back, the kernel may send requests by the inode's number, whatever became of its names: for a path that a program is
/// walking, a file that is a mountpoint, a descriptor opened with `O_PATH`. They end with the mount.
final class KernelReferences: Sendable {
    fileprivate struct State {
        var counts = ReferenceCounts()
        /// The kernel may know inodes up to this number from the daemon before, which has not told how many references it has
        /// given.
        var lastUncounted = InodeNumber(0)
        /// How many inodes were deleted.
        var deletionCount: UInt64 = 0
        /// The latest of them, in a ring.
        var deletions: [InodeNumber] = []
    }

    /// How many deletions are remembered, for replies that are being made.
    fileprivate static let deletionLimit = 256

    private let state = Mutex(State())

    /// A position among the deletions, for ``add(_:since:)``.
    var moment: UInt64 { state.withLock { $0.deletionCount } }

    /// Counts a reference to an inode that was just created.
    func add(_ number: InodeNumber) {
        // The root is never forgotten.
        if number != .root { state.withLock { $0.counts.add(number) } }
    }

    /// Counts a reference to an inode that was read from the index after a moment.
    /// - Returns: `false` if it may have been deleted since: then the kernel must not be given it.
    func add(_ number: InodeNumber, since moment: UInt64) -> Bool {
        if number == .root { return true }
        return state.withLock { state in
            guard !state.mayBeDeleted(number, since: moment) else { return false }
            state.counts.add(number)
            return true
        }
    }

    /// The kernel gives references back.
    /// - Returns: Whether it has none left.
    func remove(_ number: InodeNumber, _ count: UInt64) -> Bool {
        if number == .root { return false }
        return state.withLock { $0.counts.remove(number, count) }
    }

    func holds(_ number: InodeNumber) -> Bool { state.withLock { $0.counts[number] > 0 } }

    /// The kernel has references from the daemon before, to inodes up to a number.
    func resume(through last: InodeNumber) { state.withLock { $0.lastUncounted = last } }

    /// An inode is about to be deleted, unless the kernel knows it: from here on the kernel is not given it.
    ///
    /// - Parameter isKnown: Asks the kernel, where it may have references that were not counted.
    /// - Returns: Whether it may be deleted.
    func retire(_ number: InodeNumber, isKnown: (InodeNumber) -> Bool) -> Bool {
        let isUncounted = state.withLock { $0.counts[number] == 0 && number <= $0.lastUncounted }
        // Not under the lock. What the kernel does not know now it can only learn by a reply, which is counted.
        if isUncounted, isKnown(number) { return false }
        return state.withLock { state in
            guard state.counts[number] == 0 else { return false }
            if state.deletions.count < Self.deletionLimit {
                state.deletions.append(number)
            } else {
                state.deletions[Int(state.deletionCount % UInt64(Self.deletionLimit))] = number
            }
            state.deletionCount += 1
            return true
        }
    }
}

extension KernelReferences.State {
    fileprivate func mayBeDeleted(_ number: InodeNumber, since moment: UInt64) -> Bool {
        if deletionCount == moment { return false }
        guard deletionCount - moment < UInt64(KernelReferences.deletionLimit) else { return true }
        return (moment..<deletionCount).contains {
            deletions[Int($0 % UInt64(KernelReferences.deletionLimit))] == number
        }
    }
}
