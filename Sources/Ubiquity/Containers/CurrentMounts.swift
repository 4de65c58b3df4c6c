import Glibc
import Linux
import Model
import Synchronization

/// The mounts of this process's namespace, read again only when they have changed: every coordinated access looks for
/// the container of its items.
enum CurrentMounts {
    private struct State {
        /// An open `/proc/self/mountinfo`, on which the kernel reports changes; `nil` before the first use.
        var file: Descriptor?
        var table = MountTable(text: "")
    }

    private static let state = Mutex(State())

    static var table: MountTable {
        state.withLock { state in
            guard let file = state.file else {
                let file = try? Descriptor("/proc/self/mountinfo")
                // Opened before the table is read: a change in between is reported.
                let table = MountTable.current()
                // Without the file there is nothing to remember.
                if let file { state = State(file: file, table: table) }
                return table
            }
            // The kernel reports a change as POLLPRI, once for each open file. Related: proc(5).
            var request = pollfd(fd: file.rawValue, events: Int16(POLLPRI), revents: 0)
            if poll(&request, 1, 0) != 0 { state.table = MountTable.current() }
            return state.table
        }
    }
}
