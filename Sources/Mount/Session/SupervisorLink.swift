import CLinux
import FileSystem
import Glibc
import Linux

/// The supervisor that started this daemon, and starts another when it is killed: see `dewpoint-supervisor`, which says how
/// it is told what.
package final class SupervisorLink: Sendable {
    /// What it kept of the daemon before.
    package struct Kept: Sendable {
        /// `/dev/fuse`; libfuse closes it.
        let connection: Int32
        /// The memory of ``HandleSlots``.
        let handles: Descriptor
    }

    private static let variables = (
        socket: "DEWPOINT_SUPERVISOR", connection: "DEWPOINT_CONNECTION", handles: "DEWPOINT_HANDLES"
    )

    private let socket: Descriptor
    package let kept: Kept?

    /// Takes what the environment names. Call it once: the programs that this one starts get none of it.
    ///
    /// - Returns: `nil` for a daemon without a supervisor.
    package static func take() -> SupervisorLink? {
        guard let socket = descriptor(variables.socket) else { return nil }
        let (connection, handles) = (descriptor(variables.connection), descriptor(variables.handles))
        return SupervisorLink(
            socket: Descriptor(owning: socket),
            kept: connection.flatMap { connection in
                handles.map { Kept(connection: connection, handles: Descriptor(owning: $0)) }
            })
    }

    private static func descriptor(_ variable: String) -> Int32? {
        guard let text = getenv(variable), let number = Int32(String(cString: text)), number > STDERR_FILENO else {
            return nil
        }
        unsetenv(variable)
        // Not if it was inherited from elsewhere, and the descriptor is none.
        return fcntl(number, F_SETFD, FD_CLOEXEC) == 0 ? number : nil
    }

    private init(socket: Descriptor, kept: Kept?) {
        self.socket = socket
        self.kept = kept
    }

    /// From now on the daemon is started anew when it is killed.
    func keep(connection: Int32, _ slots: HandleSlots) {
        send("s", slots.file.rawValue)
        send("f", connection)
    }

    /// Has it start the process that writes notifications.
    func startNotifier() -> NotifierLink? { NotifierLink { send("n", $0) } }

    /// The mount is served.
    package func serves() { send("r", nil) }

    /// The daemon is about to be killed, so that another takes its place.
    ///
    /// - Returns: Whether there is a supervisor to start it.
    func expectsEnd() -> Bool { send("u", nil) }

    /// The mount has ended, or ends with this daemon.
    func ends() { send("e", nil) }

    /// Without a supervisor, which may have been ended, the mount ends with this daemon.
    ///
    /// - Returns: Whether there is one.
    @discardableResult private func send(_ tag: Unicode.Scalar, _ file: Int32?) -> Bool {
        let bytes = [UInt8(ascii: tag)]
        let count =
            if let file { Int(CLinux_send_files(socket.rawValue, bytes, bytes.count, [file], 1)) } else {
                Glibc.send(socket.rawValue, bytes, bytes.count, Int32(MSG_NOSIGNAL))
            }
        return count > 0
    }
}
