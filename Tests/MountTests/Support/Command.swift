import Foundation

/// A program that ran to its end within a time limit, and its outcome.
///
/// `timeout` enforces the limit, so it applies even when the tests themselves are killed. A program that is stuck in
/// the kernel survives that; then ``run(_:limit:in:environment:)`` gives up on it and throws.
struct Command: Sendable {
    let status: Int32
    let output: String
    let errors: String
    let seconds: Double
    /// What the program was doing shortly before its limit; empty if it had ended by then.
    let standstill: String

    var succeeded: Bool { status == 0 }

    /// The exit status of `timeout` when the limit was exceeded.
    static let timedOut: Int32 = 124

    /// How long after its limit a program that still runs counts as stuck in the kernel.
    private static let grace = Duration.seconds(20)
    /// How often a running program is polled.
    private static let interval = Duration.milliseconds(4)

    struct Stuck: Error, CustomStringConvertible {
        let arguments: [String]
        let standstill: String
        var description: String { "stuck beyond SIGKILL: \(arguments.joined(separator: " ")), \(standstill)" }
    }

    struct Failed: Error, CustomStringConvertible {
        let arguments: [String]
        let result: Command
        var description: String {
            "\(arguments.joined(separator: " ")): exit status \(result.status) after \(result.seconds) s"
                + (result.standstill.isEmpty ? "" : ", \(result.standstill)") + "\n"
                + result.output.suffix(4000) + result.errors.suffix(4000)
        }
    }

    /// Runs a program and returns its outcome, success or not.
    static func run(
        _ arguments: [String], limit: Duration = .seconds(30), in directory: String? = nil,
        environment: [String: String] = [:]
    ) async throws -> Command {
        let scratch = try ScratchDirectory()
        defer { scratch.remove() }
        let start = ContinuousClock.now
        let child = try spawn(
            ["/usr/bin/timeout", "--kill-after=5", "\(limit.components.seconds)"]
                + (directory.map { ["env", "--chdir", $0] } ?? []) + arguments,
            environment: ProcessInfo.processInfo.environment.merging(environment) { $1 }, scratch)
        var status: Int32 = 0
        var standstill: String?
        while waitpid(child, &status, WNOHANG) == 0 {
            let duration = ContinuousClock.now - start
            if duration > limit - Standstill.lead, standstill == nil { standstill = Standstill.report(on: arguments) }
            guard duration < limit + grace else { throw Stuck(arguments: arguments, standstill: standstill ?? "") }
            try await Task.sleep(for: interval)
        }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        // A signal is reported as in a shell: 128 plus its number.
        let ended = status & 0x7f == 0 ? (status >> 8) & 0xff : 128 + status & 0x7f
        return Command(
            status: ended, output: scratch.output, errors: scratch.errors, seconds: seconds,
            standstill: standstill ?? "")
    }

    /// Runs a program that must succeed and returns its output.
    @discardableResult
    static func check(
        _ arguments: [String], limit: Duration = .seconds(30), in directory: String? = nil,
        environment: [String: String] = [:]
    ) async throws -> String {
        let result = try await run(arguments, limit: limit, in: directory, environment: environment)
        guard result.succeeded else { throw Failed(arguments: arguments, result: result) }
        return result.output
    }

    /// Runs a bash script that must succeed; `$1`, `$2` and so on are `arguments`.
    @discardableResult
    static func script(
        _ text: String, _ arguments: String..., limit: Duration = .seconds(60), in directory: String? = nil,
        environment: [String: String] = [:]
    ) async throws -> String {
        try await check(
            ["bash", "-euo", "pipefail", "-c", text, "script"] + arguments, limit: limit, in: directory,
            environment: environment)
    }

    /// Starts a program with no signals blocked, whatever the threads of this process block, and with its output in
    /// files: a daemon that it leaves behind would hold a pipe open forever.
    ///
    /// Foundation's `Process` is not used: on Linux it occasionally reads past the end of the directory of its
    /// descriptors.
    private static func spawn(
        _ arguments: [String], environment: [String: String], _ scratch: ScratchDirectory
    ) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        let writing = O_WRONLY | O_CREAT | O_TRUNC
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, scratch.path + "/output", writing, 0o600)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, scratch.path + "/errors", writing, 0o600)

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        var all = sigset_t()
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        let argumentPointers = arguments.map { strdup($0) } + [nil]
        let environmentPointers = environment.map { strdup("\($0)=\($1)") } + [nil]
        defer { (argumentPointers + environmentPointers).forEach { free($0) } }
        var child: pid_t = 0
        let result = posix_spawn(&child, arguments[0], &actions, &attributes, argumentPointers, environmentPointers)
        guard result == 0 else { throw POSIXError(POSIXErrorCode(rawValue: result) ?? .EINVAL) }
        return child
    }
}

/// The output of one command, in a directory of its own below the system's temporary directory.
private struct ScratchDirectory {
    let path: String

    init() throws {
        var template = Array((NSTemporaryDirectory() + "dewpoint-command-XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    var output: String { text("output") }
    var errors: String { text("errors") }

    private func text(_ name: String) -> String {
        String(decoding: FileManager.default.contents(atPath: path + "/" + name) ?? Data(), as: UTF8.self)
    }

    func remove() {
        // A directory that cannot be removed is left for the system to clean up.
        try? FileManager.default.removeItem(atPath: path)
    }
}
