import Model
import Synchronization

/// The open directories, by the numbers that the kernel passes with each request on them.
final class DirectoryHandles: Sendable {
    private struct State {
        var handles: [UInt64: DirectoryHandle] = [:]
        var last: UInt64
    }

    private let state: Mutex<State>

    /// - Parameter generation: How many daemons had this mount before: each has numbers of its own.
    init(generation: UInt32 = 0) { state = Mutex(State(last: UInt64(generation) << 32)) }

    func add(_ inode: InodeNumber) -> UInt64 {
        state.withLock { state in
            state.last += 1
            state.handles[state.last] = DirectoryHandle(inode: inode)
            return state.last
        }
    }

    /// The handle with a number. One from the daemon before is made anew: all that it knew is where a listing ends.
    func handle(_ number: UInt64, of inode: InodeNumber) -> DirectoryHandle {
        state.withLock { state in
            if let known = state.handles[number] { return known }
            let handle = DirectoryHandle(inode: inode)
            state.handles[number] = handle
            return handle
        }
    }

    func remove(_ number: UInt64) { _ = state.withLock { $0.handles.removeValue(forKey: number) } }
}
