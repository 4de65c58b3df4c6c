import Glibc
import Linux
import Synchronization

/// The process that writes notifications to the connection in place of the daemon: see `dewpoint-supervisor`, which starts it.
///
/// For some notifications the kernel waits for a lock whose holder waits for an answer of the daemon. If that is killed
/// meanwhile, its thread cannot end before it has the lock, and what the daemon has open and locked stays so; then no other
/// daemon could take its place, and nobody would answer.
final class NotifierLink: Sendable {
    /// The longest notification that it takes, in bytes.
    private static let limit = 8192

    /// `nil` when the process is gone.
    private let socket: Mutex<Descriptor?>

    /// - Parameter send: Gives the supervisor the other end.
    init?(_ send: (Int32) -> Void) {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue) | O_CLOEXEC, 0, &ends) == 0 else { return nil }
        socket = Mutex(Descriptor(owning: ends[0]))
        let other = Descriptor(owning: ends[1])
        withExtendedLifetime(other) { send(other.rawValue) }
    }

    /// Writes a notification, and waits until the kernel has taken it. For the one thread that may wait.
    ///
    /// - Returns: As writev(2), with its errno; `nil` when the process cannot do it.
    func write(_ pieces: UnsafeMutableBufferPointer<iovec>) -> Int? {
        let byteCount = pieces.reduce(0) { $0 + $1.iov_len }
        guard byteCount <= Self.limit, let socket = socket.withLock(\.self) else { return nil }
        guard writev(socket.rawValue, pieces.baseAddress, Int32(pieces.count)) == byteCount,
            let answer = Self.answer(socket)
        else {
            end()
            return nil
        }
        guard answer != 0 else { return byteCount }
        errno = -answer
        return -1
    }

    func write(_ bytes: UnsafeRawBufferPointer) -> Int? {
        var piece = iovec(iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
        return withUnsafeMutablePointer(to: &piece) { write(UnsafeMutableBufferPointer(start: $0, count: 1)) }
    }

    /// Ends the process, which has the connection open.
    func end() { socket.withLock { $0 = nil } }

    private static func answer(_ socket: Descriptor) -> Int32? {
        var answer: Int32 = 0
        while true {
            let count = recv(socket.rawValue, &answer, MemoryLayout<Int32>.size, 0)
            if count < 0, errno == EINTR { continue }
            return count == MemoryLayout<Int32>.size ? answer : nil
        }
    }
}
