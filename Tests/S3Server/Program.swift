import Foundation

/// A program that a test runs.
///
/// Foundation's `Process` is unsuitable: it also waits for the processes that the program leaves behind, and lets the
/// program inherit the open descriptors of this process.
package struct Program: Sendable {
    private let process: pid_t

    package struct Failed: Error, CustomStringConvertible {
        package let description: String
    }

    /// The interval at which a running program is checked.
    private static let interval = Duration.milliseconds(10)

    /// Runs a program and throws if it fails.
    ///
    /// - Parameter arguments: The path of the program and its arguments.
    package static func run(_ arguments: [String], environment: [String: String] = [:]) async throws {
        let log = FileManager.default.temporaryDirectory.appending(path: "program-\(UUID().uuidString)").path
        defer { unlink(log) }
        let program = try Program(arguments, environment: environment, log: log)
        var status: Int32 = 0
        while waitpid(program.process, &status, WNOHANG) == 0 { try await Task.sleep(for: interval) }
        guard status == 0 else {
            // The failure is reported even if the output of the program cannot be read.
            let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
            throw Failed(description: "\(arguments.joined(separator: " ")): \(text)")
        }
    }

    /// Runs a program found in `PATH`, and blocks until it ends.
    ///
    /// - Returns: The exit status, as in a shell, and the output, including errors.
    package static func result(of arguments: [String], in directory: String) throws -> (status: Int32, output: String) {
        let log = FileManager.default.temporaryDirectory.appending(path: "program-\(UUID().uuidString)").path
        defer { unlink(log) }
        let change = ["/bin/sh", "-c", #"cd "$1" && shift && exec "$@""#, "sh", directory]
        let program = try Program(change + arguments, log: log)
        var status: Int32 = 0
        while waitpid(program.process, &status, 0) < 0, errno == EINTR {}
        let text = FileManager.default.contents(atPath: log) ?? Data()
        let signal = status & 0x7f
        return (signal == 0 ? status >> 8 & 0xff : 128 + signal, String(decoding: text, as: UTF8.self))
    }

    /// Starts a program that runs until ``end()``.
    package init(_ arguments: [String], environment: [String: String] = [:], log: String = "/dev/null") throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log, O_WRONLY | O_CREAT, 0o600)
        posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO)
        var argumentPointers = arguments.map { strdup($0) } + [nil]
        let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        var environmentPointers = variables.map { strdup("\($0)=\($1)") } + [nil]
        defer { for pointer in argumentPointers + environmentPointers { free(pointer) } }
        var child: pid_t = 0
        let result = posix_spawn(&child, arguments[0], &actions, nil, &argumentPointers, &environmentPointers)
        guard result == 0 else { throw POSIXError(POSIXErrorCode(rawValue: result) ?? .EINVAL) }
        process = child
    }

    /// Kills the program.
    package func end() {
        kill(process, SIGKILL)
        waitpid(process, nil, 0)
    }
}
