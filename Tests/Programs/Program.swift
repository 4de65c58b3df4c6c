import Foundation
import VirtualTime

/// A program that a test runs.
///
/// Foundation's `Process` is unsuitable: where some 1,300 files are open, as in the process of all the tests, its `run()`
/// reads beyond the end of a listing of them, and the process dies. It also waits for the processes that the program
/// leaves behind.
package struct Program: Sendable {
    /// Its number.
    package let process: Int32

    package struct Failed: Error, CustomStringConvertible {
        package let description: String
    }

    /// What a program has printed until it ended.
    package struct Result: Sendable {
        /// The exit status, as in a shell: 128 plus the signal's number for a program that a signal ended.
        package let status: Int32
        package let output: String
        package let errors: String
    }

    /// The interval at which a running program is checked. Nothing here blocks: tests share one thread per processor.
    private static let interval = Duration.milliseconds(10)

    /// Runs a program and throws if it fails.
    ///
    /// - Parameter arguments: The path or the name of the program, and its arguments.
    /// - Returns: Its output.
    @discardableResult
    package static func run(_ arguments: [String], environment: [String: String] = [:]) async throws -> String {
        let result = try await result(of: arguments, environment: environment)
        guard result.status == 0 else {
            throw Failed(description: "\(arguments.joined(separator: " ")): \(result.output)\(result.errors)")
        }
        return result.output
    }

    /// Runs a program, and waits until it ends.
    ///
    /// - Parameter arguments: The path or the name of the program, and its arguments.
    package static func result(
        of arguments: [String], environment: [String: String] = [:]
    ) async throws -> Result {
        // Files rather than pipes, so that nothing has to be read while the program runs.
        let log = FileManager.default.temporaryDirectory.appending(path: "program-\(UUID().uuidString)").path
        let errors = log + "-errors"
        defer {
            unlink(log)
            unlink(errors)
        }
        let program = try Program(arguments, environment: environment, log: log, errors: errors)
        var status: Int32 = 0
        while waitpid(program.process, &status, WNOHANG) == 0 {
            do {
                try await VirtualTimeExecutor.outside { try await Task.sleep(for: interval) }
            } catch {
                program.end()
                throw error
            }
        }
        let signal = status & 0x7f
        return Result(
            status: signal == 0 ? status >> 8 & 0xff : 128 + signal, output: text(of: log), errors: text(of: errors))
    }

    private static func text(of path: String) -> String {
        String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
    }

    /// Starts a program that runs until ``end()``.
    ///
    /// - Parameters:
    ///   - log: The file for its output.
    ///   - errors: The file for its standard error; the log when `nil`.
    package init(
        _ arguments: [String], environment: [String: String] = [:], log: String = "/dev/null", errors: String? = nil
    ) throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log, O_WRONLY | O_CREAT, 0o600)
        if let errors {
            posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors, O_WRONLY | O_CREAT, 0o600)
        } else {
            posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO)
        }
        var argumentPointers = arguments.map { strdup($0) } + [nil]
        let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        var environmentPointers = variables.map { strdup("\($0)=\($1)") } + [nil]
        defer { for pointer in argumentPointers + environmentPointers { free(pointer) } }
        var child: pid_t = 0
        let result = posix_spawnp(&child, arguments[0], &actions, nil, &argumentPointers, &environmentPointers)
        guard result == 0 else { throw POSIXError(POSIXErrorCode(rawValue: result) ?? .EINVAL) }
        process = child
    }

    /// Kills the program, also a stopped one.
    package func end() {
        kill(process, SIGKILL)
        while waitpid(process, nil, 0) < 0, errno == EINTR {}
    }
}
