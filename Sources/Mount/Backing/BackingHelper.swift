// The compiler finds `struct timeval` in whichever module it reads first.
import CFuse
import CLinux
import Glibc
import Linux
import Synchronization

/// A program with the one capability that pass-through takes, for a daemon without: see `dewpoint-backing`, which says how
/// it is asked.
///
/// It answers within microseconds. One that does not is ended, and is as good as none.
final class BackingHelper: Sendable {
    /// Where it is installed: beside the directory of the daemon's own program.
    private static let installedPath = "../libexec/dewpoint/dewpoint-backing"
    /// For tests, and for who builds it himself.
    private static let variable = "DEWPOINT_BACKING_HELPER"
    /// How long an answer may take.
    private static let patience = timeval(tv_sec: 1, tv_usec: 0)

    enum Failure: Error, Equatable {
        /// It is not there, or could not be started.
        case notStarted(errno: Int32)
        /// It has no capability.
        case powerless(errno: Int32)
    }

    fileprivate struct Link {
        /// `nil` when the helper is gone.
        var socket: Descriptor?
        /// How many answers nobody has waited for.
        var unreadCount = 0
    }

    /// How many answers may be unread: far fewer than a socket holds.
    private static let unreadLimit = 64

    private let process: pid_t
    private let link: Mutex<Link>

    /// Starts the helper that is installed.
    static func start() throws(Failure) -> BackingHelper { try BackingHelper(at: path) }

    private static var path: String {
        getenv(variable).map { String(cString: $0) } ?? OwnProgram.path(beside: installedPath)
    }

    init(at path: String) throws(Failure) {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue) | O_CLOEXEC, 0, &ends) == 0 else {
            throw .notStarted(errno: errno)
        }
        let (own, other) = (Descriptor(owning: ends[0]), Descriptor(owning: ends[1]))
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, other.rawValue, STDIN_FILENO)
        let words: [UnsafeMutablePointer<CChar>?] = [strdup("dewpoint-backing"), nil]
        defer { words.forEach { free($0) } }
        var environment: [UnsafeMutablePointer<CChar>?] = [nil]
        var process: pid_t = 0
        let failure = posix_spawn(&process, path, &actions, nil, words, &environment)
        guard failure == 0 else { throw .notStarted(errno: failure) }
        var patience = Self.patience
        let size = socklen_t(MemoryLayout<timeval>.size)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] { setsockopt(own.rawValue, SOL_SOCKET, option, &patience, size) }
        self.process = process
        link = Mutex(Link(socket: own))
        let answer = Self.answer(own)
        // From here on, `deinit` ends the helper.
        guard answer == 0 else { throw .powerless(errno: answer ?? EPROTO) }
    }

    /// - Returns: The number of the registered file, or the negative errno of the refusal.
    func register(_ descriptor: Int32, connection: Int32) -> Int32 {
        link.withLock { link in
            guard link.send([UInt8(ascii: "o")], [connection, descriptor]), let answer = link.lastAnswer() else {
                return -EPIPE
            }
            return answer
        }
    }

    /// Does not wait for the answer: the next registration does.
    func unregister(_ number: Int32, connection: Int32) {
        let request = [UInt8(ascii: "c")] + withUnsafeBytes(of: number) { Array($0) }
        link.withLock { link in
            guard link.send(request, [connection]) else { return }
            // Fails only when the connection is gone, and the registration with it.
            if link.unreadCount >= Self.unreadLimit { _ = link.lastAnswer() }
        }
    }

    fileprivate static func answer(_ socket: borrowing Descriptor) -> Int32? {
        var answer: Int32 = 0
        while true {
            let count = recv(socket.rawValue, &answer, MemoryLayout<Int32>.size, 0)
            if count < 0, errno == EINTR { continue }
            return count == MemoryLayout<Int32>.size ? answer : nil
        }
    }

    deinit {
        link.withLock { $0.socket = nil }
        // It ends by itself now; one that is stopped does not.
        kill(process, SIGKILL)
        _ = SystemCalls.wait(for: process)
    }
}

extension BackingHelper.Link {
    /// - Returns: Whether it was sent; if not, the helper is as good as gone.
    fileprivate mutating func send(_ request: [UInt8], _ files: [Int32]) -> Bool {
        guard let open = socket else { return false }
        guard CLinux_send_files(open.rawValue, request, request.count, files, files.count) == request.count else {
            socket = nil
            return false
        }
        unreadCount += 1
        return true
    }

    /// Waits for the answers to all requests.
    ///
    /// - Returns: That to the last one; `nil` when the helper did not answer: a later answer would be taken for another's.
    fileprivate mutating func lastAnswer() -> Int32? {
        guard let open = socket else { return nil }
        var last: Int32?
        while unreadCount > 0 {
            last = BackingHelper.answer(open)
            unreadCount -= 1
            if last == nil { break }
        }
        if last == nil { socket = nil }
        return last
    }
}
