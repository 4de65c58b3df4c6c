import Glibc
import Model
import Synchronization
import Linux

/// The open bytes of local files, so that this process has each of them open once, whoever asks for them.
///
/// Whether another program has a file open or mapped is told by a lease, to which a second open of our own looks the
/// same: that of an upload, or one of a handle that is being released. Related: fcntl(2), `F_SETLEASE`.
final class OpenBytes: Sendable {
    private struct Entry {
        weak var descriptor: Descriptor?
    }

    private struct State {
        var entries: [InodeNumber: Entry] = [:]
        /// With how many entries those of closed files are dropped.
        var sweepCount = OpenBytes.leastSweepCount
    }

    private static let leastSweepCount = 1024

    private let state = Mutex(State())

    /// - Parameter opened: The bytes of an inode, opened just now.
    /// - Returns: The same file, as it is open already; otherwise `opened`, for whoever asks next.
    func shared(_ opened: Descriptor, of number: InodeNumber) -> Descriptor {
        state.withLock { state in
            if let known = state.entries[number]?.descriptor, known.isInterchangeable(with: opened) { return known }
            if state.entries.count >= state.sweepCount {
                state.entries = state.entries.filter { $0.value.descriptor != nil }
                state.sweepCount = max(Self.leastSweepCount, 2 * state.entries.count)
            }
            state.entries[number] = Entry(descriptor: opened)
            return opened
        }
    }
}

extension Descriptor {
    /// Whether both are of one file, open for the same.
    fileprivate func isInterchangeable(with other: Descriptor) -> Bool {
        var (one, two) = (stat(), stat())
        guard fstat(rawValue, &one) == 0, fstat(other.rawValue, &two) == 0 else { return false }
        return one.st_dev == two.st_dev && one.st_ino == two.st_ino
            && fcntl(rawValue, F_GETFL) & O_ACCMODE == fcntl(other.rawValue, F_GETFL) & O_ACCMODE
    }
}
