import Dispatch
import Foundation
import Linux
import Synchronization

/// Starts a daemon in the background and waits until its mount answers.
///
/// The daemon is this program, started anew: a process with threads cannot continue after a bare `fork(2)`. It leads a
/// session of its own, so that closing the terminal does not affect it, and writes to the log in the state directory.
package struct DaemonLauncher: Sendable {
    /// Why the start failed.
    package struct Failure: Error, Equatable, Sendable {
        package let sentence: String
        /// The end of the daemon's log, if the sentence refers to it.
        package var log: [String] = []
        /// The exit status of the daemon; `nil` if it reported none.
        package let exitStatus: Int32?
    }

    /// How long the mount may take to answer: 60 s, mostly for a repair after a power loss.
    package static let answerLimit = Duration.seconds(60)
    /// How long a daemon may take to exit after it has reported its failure.
    private static let endLimit = Duration.seconds(5)
    /// The descriptor of the pipe in the daemon.
    package static let readyDescriptor: Int32 = 3

    /// `POSIX_SPAWN_SETSID`, which `<spawn.h>` declares only with GNU extensions.
    private static let newSession: Int16 = 0x80

    private let arguments: [String]
    private let mountpoint: String
    private let state: StateDirectory
    /// The supervisor that starts it, and starts it anew when it is killed; `nil` for none.
    private let supervisor: String?
    private let answerLimit: Duration

    /// - Parameters:
    ///   - arguments: Of this program, which make it serve in the foreground and report to ``readyDescriptor``. All paths
    ///     are absolute.
    ///   - survives: Whether it is started anew when it is killed.
    ///   - answerLimit: How long the mount may take to answer.
    package init(
        arguments: [String], mountpoint: String, state: StateDirectory, survives: Bool = false,
        answerLimit: Duration = Self.answerLimit
    ) {
        self.arguments = arguments
        self.mountpoint = mountpoint
        self.state = state
        self.answerLimit = answerLimit
        supervisor = survives ? SupervisorProgram.find() : nil
    }

    /// Blocks until the mount answers.
    ///
    /// - Returns: A sentence about the mount for its user, if there is one.
    package func launch() throws -> String? {
        try state.make()
        let log = try state.openLogOfDaemon()
        let logStart = try log.status().size
        let ends = try Self.makePipe()
        let child: Child
        do {
            defer { close(ends.write) }
            child = Child(process: try spawn(log: log, ready: ends.write), logStart: logStart)
        } catch {
            close(ends.read)
            throw error
        }
        let deadline = ContinuousClock.now + answerLimit
        do {
            let notice = try awaitReady(ends.read, child, deadline: deadline)
            try awaitAnswer(child, deadline: deadline)
            return notice
        } catch let error as Timeout {
            kill(child.process, SIGTERM)
            throw Failure(
                sentence:
                    "the mount does not answer: \(error.what) took more than \(answerLimit); see \(state.log)",
                exitStatus: nil)
        }
    }

    /// A started daemon.
    private struct Child {
        let process: pid_t
        /// Where its part of the log begins.
        let logStart: Int64
    }

    /// Waits for the daemon's line.
    ///
    /// - Returns: What it says about the mount, if anything.
    private func awaitReady(
        _ descriptor: Int32, _ child: Child, deadline: ContinuousClock.Instant
    ) throws -> String? {
        let said = try Self.bounded("the start", until: deadline) {
            let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
            // Reading a pipe fails only at its end, and an end without a line is handled below.
            return String(decoding: (try? file.readToEnd()) ?? Data(), as: UTF8.self)
        }
        guard let line = said.split(separator: "\n").first else { throw death(of: child) }
        let words = line.split(separator: " ", maxSplits: 1)
        if words.first == "ready" { return words.count > 1 ? String(words[1]) : nil }
        throw Failure(sentence: String(line.trimmingPrefix("error ")), exitStatus: Self.exitStatus(of: child.process))
    }

    /// Accesses the mount once. From this process, since the daemon must never wait for its own mount. With opendir(3),
    /// since the kernel may answer a stat(2) itself.
    private func awaitAnswer(_ child: Child, deadline: ContinuousClock.Instant) throws {
        let path = mountpoint
        let answers = try Self.bounded("the first answer", until: deadline) {
            guard let directory = opendir(path) else { return false }
            closedir(directory)
            return true
        }
        guard answers else { throw death(of: child) }
    }

    private func death(of child: Child) -> Failure {
        let status = Self.exitStatus(of: child.process)
        let tail = state.logTail(since: child.logStart)
        let rest = tail.isEmpty ? "it logged nothing to \(state.log)" : "the end of \(state.log):"
        return Failure(
            sentence: "the daemon exited before the mount was ready; \(rest)", log: tail,
            exitStatus: status == 0 ? nil : status)
    }
}

extension DaemonLauncher {
    private struct Timeout: Error {
        let what: String
    }

    /// Runs a call that cannot be cancelled in a thread of its own and stops waiting for it at the deadline.
    private static func bounded<Value: Sendable>(
        _ what: String, until deadline: ContinuousClock.Instant, _ body: @escaping @Sendable () -> Value
    ) throws -> Value {
        let outcome = Outcome<Value>()
        Thread.detachNewThread { outcome.set(body()) }
        guard let value = outcome.wait(atMost: deadline - ContinuousClock.now) else { throw Timeout(what: what) }
        return value
    }

    /// A value that a thread waits for.
    private final class Outcome<Value: Sendable>: Sendable {
        private let value = Mutex<Value?>(nil)
        private let isSet = DispatchSemaphore(value: 0)

        func set(_ value: Value) {
            self.value.withLock { $0 = value }
            isSet.signal()
        }

        func wait(atMost limit: Duration) -> Value? {
            let milliseconds = Int(max(0, limit / .milliseconds(1)).rounded(.up))
            guard isSet.wait(timeout: .now() + .milliseconds(milliseconds)) == .success else { return nil }
            return value.withLock { $0 }
        }
    }

    /// - Returns: `nil` if the process was killed, or does not exit.
    private static func exitStatus(of child: pid_t) -> Int32? {
        let deadline = ContinuousClock.now + endLimit
        var status: Int32 = 0
        while ContinuousClock.now < deadline {
            let ended = waitpid(child, &status, WNOHANG)
            // The low seven bits are a signal, the next eight the exit status; see wait(2).
            if ended == child { return status & 0x7f == 0 ? (status >> 8) & 0xff : nil }
            guard ended == 0 else { return nil }
            usleep(10_000)
        }
        return nil
    }

    private static func systemFailure(_ call: String, _ number: Int32 = errno) -> Failure {
        Failure(
            sentence: "the daemon cannot be started: \(call): \(String(cString: strerror(number)))", exitStatus: nil)
    }

    private static func makePipe() throws -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw systemFailure("pipe") }
        return (ends[0], ends[1])
    }

    /// Closes open and inherited descriptors in the daemon: a caller that waits for the end of a pipe would wait for
    /// the daemon's exit.
    private static func closeAllOnExec() throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
            // The descriptor of the listing is included and closed by now: the failure does not matter.
            if let descriptor = Int32(name), descriptor > STDERR_FILENO { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        }
    }

    private func spawn(log: Descriptor, ready: Int32) throws -> pid_t {
        try Self.closeAllOnExec()
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, log.rawValue, STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, log.rawValue, STDERR_FILENO)
        posix_spawn_file_actions_adddup2(&actions, ready, Self.readyDescriptor)

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(
            &attributes, Self.newSession | Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETSIGDEF))

        let program = Self.program()
        // A program that was replaced has no name by which it could be started anew.
        let supervisor = program == OwnProgram.link ? nil : supervisor
        let words = (supervisor.map { [$0, program] } ?? ["dewpoint"]) + arguments
        var argv = words.map { strdup($0) } + [nil]
        let variables = ProcessInfo.processInfo.environment.map { "\($0.key)=\($0.value)" }
        let added = MemoryCopies.setting().map { [$0] } ?? []
        var environment = (variables + added).map { strdup($0) } + [nil]
        defer { for text in argv + environment { free(text) } }
        var child: pid_t = 0
        let number = withExtendedLifetime(log) {
            posix_spawn(&child, supervisor ?? program, &actions, &attributes, &argv, &environment)
        }
        guard number == 0 else { throw Self.systemFailure("posix_spawn", number) }
        return child
    }

    /// The path of this program. Its name rather than the link to it, so that `ps` shows it, unless it was replaced
    /// meanwhile.
    static func program() -> String {
        guard let path = OwnProgram.path, access(path, X_OK) == 0 else { return OwnProgram.link }
        return path
    }
}
