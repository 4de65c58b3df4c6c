import CLinux
import Glibc
import Linux

/// The running helper, as the daemon sees it.
///
/// It belongs to one thread, except for ``identifier``, which stands for it as long as requests of it may come.
final class AnnouncementProcess {
    enum Failure: Error {
        /// It could not be started.
        case notStarted(errno: Int32)
        /// The mount does not show it what it shows to it alone.
        case refused(errno: Int32)
        /// It has ended.
        case gone
        /// It did not answer in time.
        case timedOut
    }

    /// How long one call may take, in milliseconds: a program may hold the lock of the directory while it waits itself, for
    /// a claim say.
    private static let patience: Int32 = 10_000

    let identifier: pid_t
    private let orders: Descriptor
    private let answers: Descriptor

    /// Starts it, without the daemon's descriptors and environment.
    init(_ arguments: [String]) throws(Failure) {
        let (orderReader, orders) = try Self.pipe()
        let (answers, answerWriter) = try Self.pipe()
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, orderReader.rawValue, STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, answerWriter.rawValue, STDOUT_FILENO)
        var words: [UnsafeMutablePointer<CChar>?] = (["dewpoint"] + arguments).map { strdup($0) }
        words.append(nil)
        defer { words.forEach { free($0) } }
        // A toolchain's libraries may be found by this only.
        var environment = [getenv("LD_LIBRARY_PATH").map { strdup("LD_LIBRARY_PATH=\(String(cString: $0))") } ?? nil]
        environment.append(nil)
        defer { environment.forEach { free($0) } }
        var process: pid_t = 0
        let failure = posix_spawn(&process, OwnProgram.link, &actions, nil, words, environment)
        guard failure == 0 else { throw .notStarted(errno: failure) }
        identifier = process
        self.orders = orders
        self.answers = answers
    }

    private static func pipe() throws(Failure) -> (reader: Descriptor, writer: Descriptor) {
        var ends: [Int32] = [-1, -1]
        guard CLinux_pipe2(&ends, O_CLOEXEC) == 0 else { throw .notStarted(errno: errno) }
        return (Descriptor(owning: ends[0]), Descriptor(owning: ends[1]))
    }

    /// Has a call made, and waits for its end.
    ///
    /// - Returns: Its errno, or 0.
    func perform(_ order: AnnouncementOrder) throws(Failure) -> Int32 {
        let bytes = order.bytes
        // The helper would end.
        guard bytes.count <= AnnouncementOrder.limit else { return ENAMETOOLONG }
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes { write(orders.rawValue, $0.baseAddress! + done, bytes.count - done) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw .gone }
            done += count
        }
        guard hasAnswer else { throw .timedOut }
        var result: Int32 = 0
        // Four bytes arrive in one piece.
        guard read(answers.rawValue, &result, 4) == 4 else { throw .gone }
        return result
    }

    /// Waits for an answer, or for the end of the helper.
    private var hasAnswer: Bool {
        var descriptor = pollfd(fd: answers.rawValue, events: Int16(POLLIN), revents: 0)
        while true {
            let count = poll(&descriptor, 1, Self.patience)
            if count < 0, errno == EINTR { continue }
            return count > 0
        }
    }

    /// Kills it. A call under way ends when its request is answered, or the mount is gone.
    func kill() { _ = Glibc.kill(identifier, SIGKILL) }

    /// Waits for its end.
    ///
    /// - Parameter body: Called when it has ended and its number is not reused yet.
    func reap(_ body: () -> Void) {
        var information = siginfo_t()
        while waitid(P_PID, id_t(identifier), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
        body()
        _ = SystemCalls.wait(for: identifier)
    }
}
