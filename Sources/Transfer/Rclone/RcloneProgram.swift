import Foundation
import Glibc
import Linux
import Model
import Subprocess
import Sync

/// Runs rclone as it is installed: found through `PATH`, with its own configuration and our environment, without a shell.
///
/// rclone's options can be set by its own variables, such as `RCLONE_BWLIMIT`; those that would change what is printed or
/// written here are set to their defaults. It reads nothing from the terminal.
struct RcloneProgram: Sendable {
    /// How long an answer about the remote may take: five minutes, as rclone itself waits for silent servers.
    static let answerLimit = Duration.seconds(300)
    /// The longest answer about a remote: 1 MiB.
    static let answerByteLimit = 1 << 20
    /// How much of rclone's messages is kept: the last 16 KiB.
    static let messageByteLimit = 16 << 10
    /// How many characters of a message are shown.
    static let shownLimit = 400
    /// How long rclone may take to end when it is told to, before it is killed.
    static let farewell = Duration.seconds(5)

    /// How rclone says, with the status of any other failure, that a remote is not configured.
    private static let unknownRemote = "didn't find section in config file"

    let sleep: @Sendable (Duration) async throws(CancellationError) -> Void

    init(_ environment: EngineEnvironment) { sleep = environment.sleep }

    /// How a run of rclone ended.
    struct Ending<Output: Sendable>: Sendable {
        /// As in a shell: 128 plus the signal's number if a signal ended it.
        let status: Int32
        let output: Output
        /// Its last message; empty without one.
        let words: String

        var succeeded: Bool { status == 0 }

        /// Why it failed, in rclone's own words.
        var reason: String { words.isEmpty ? "rclone failed with status \(status)" : "rclone: \(words)" }

        /// The same as an error about a whole remote.
        func failure(_ remote: RcloneRemote) -> FileError {
            if words.hasByteSuffix(RcloneProgram.unknownRemote) {
                return FileError(
                    .notFound, "rclone has no remote of that name; for those that it has, run: rclone listremotes")
            }
            // "Directory not found" and "File not found". Source: "Exit code" in the documentation of rclone.
            let code: FileError.Code = status == 3 || status == 4 ? .notFound : .unreachable
            return FileError(code, "\(remote) cannot be read; \(reason)")
        }
    }

    /// Options of every command.
    private static let options = [
        "--ask-password=false", "--dry-run=false", "--interactive=false", "--progress=false",
        // A link would be written where the next file is looked for.
        "--links=false",
    ]

    /// The variables with which the user chooses what is listed. rclone refuses them beside a list of files.
    private static let filters: [Environment.Key] = [
        "RCLONE_DELETE_EXCLUDED", "RCLONE_EXCLUDE", "RCLONE_EXCLUDE_FROM", "RCLONE_EXCLUDE_IF_PRESENT",
        "RCLONE_FILES_FROM", "RCLONE_FILES_FROM_RAW", "RCLONE_FILTER", "RCLONE_FILTER_FROM", "RCLONE_INCLUDE",
        "RCLONE_INCLUDE_FROM", "RCLONE_MAX_AGE", "RCLONE_MAX_DEPTH", "RCLONE_MAX_SIZE", "RCLONE_METADATA_EXCLUDE",
        "RCLONE_METADATA_EXCLUDE_FROM", "RCLONE_METADATA_FILTER", "RCLONE_METADATA_FILTER_FROM",
        "RCLONE_METADATA_INCLUDE", "RCLONE_METADATA_INCLUDE_FROM", "RCLONE_MIN_AGE", "RCLONE_MIN_SIZE",
    ]

    /// Whether the user has chosen what is listed: then what is not need not be gone.
    static var isFiltered: Bool {
        let variables = ProcessInfo.processInfo.environment
        return filters.contains { variables[$0.rawValue] != nil }
    }

    /// Options of every listing, whatever the user's variables say.
    static let listingOptions = ["--dirs-only=false", "--stat=false"]

    /// The environment of rclone.
    private static func environment(isFiltering: Bool) -> Environment {
        let unset: [Environment.Key] =
            ["DEWPOINT_PASSPHRASE", "DEWPOINT_PASSPHRASE_COMMAND"] + (isFiltering ? [] : filters)
        return .inherit.updating(Dictionary(uniqueKeysWithValues: unset.map { ($0, nil) }))
    }

    /// Asks a remote something that has a short answer.
    ///
    /// - Throws: ``FileError`` with rclone's own words.
    func answer(_ command: [String], of remote: RcloneRemote) async throws(FileError) -> [UInt8] {
        let ending = try await run(command, [remote.string], limit: Self.answerLimit) { output in
            var bytes: [UInt8] = []
            for try await buffer in output {
                buffer.withUnsafeBytes { bytes.append(contentsOf: $0.prefix(Self.answerByteLimit - bytes.count)) }
            }
            return bytes
        }
        guard ending.succeeded else { throw ending.failure(remote) }
        return ending.output
    }

    /// Runs a command of rclone that prints nothing, or nothing of interest.
    func run(_ command: [String], _ operands: [String], limit: Duration) async throws(FileError) -> Ending<Void> {
        try await run(command, operands, limit: limit) { output in for try await _ in output {} }
    }

    /// Runs a command of rclone.
    ///
    /// - Parameters:
    ///   - operands: What is never taken for options.
    ///   - limit: How long it may take before it is ended.
    ///   - isFiltering: Whether the user's filters apply.
    ///   - reading: Reads its output, to the end.
    /// - Throws: ``FileError`` when it cannot be run, does not end in time, or `reading` fails.
    func run<Output: Sendable>(
        _ command: [String], _ operands: [String], limit: Duration, isFiltering: Bool = false,
        reading: @escaping @Sendable (SubprocessOutputSequence) async throws -> Output
    ) async throws(FileError) -> Ending<Output> {
        do {
            return try await withThrowingTaskGroup(of: Ending<Output>?.self) { group in
                group.addTask {
                    try await self.ending(
                        command + Self.options + ["--"] + operands, Self.environment(isFiltering: isFiltering), reading)
                }
                group.addTask { [sleep] in
                    try await sleep(limit)
                    return nil
                }
                defer { group.cancelAll() }
                guard let ending = try await group.next() ?? nil else {
                    throw FileError(.timedOut, "rclone \(command[0]) has not ended after \(limit)")
                }
                return ending
            }
        } catch let error as FileError {
            throw error
        } catch let error as SubprocessError where error.code == .executableNotFound {
            throw FileError(.notFound, "rclone is not installed, or not in PATH; install it: apt-get install rclone")
        } catch is CancellationError {
            throw FileError(.cancelled, "it was interrupted")
        } catch {
            throw FileError(.inputOutput, "rclone cannot be run: \(error)")
        }
    }

    private func ending<Output: Sendable>(
        _ arguments: [String], _ environment: Environment,
        _ reading: @Sendable (SubprocessOutputSequence) async throws -> Output
    ) async throws -> Ending<Output> {
        var options = PlatformOptions()
        options.teardownSequence = [.gracefulShutDown(allowedDurationToNextStep: Self.farewell)]
        let run = try await Subprocess.run(
            .name("rclone"), arguments: Arguments(arguments),
            environment: environment,
            platformOptions: options, input: .none, output: .sequence, error: .sequence
        ) { execution in
            // It would go on by itself.
            let process = execution.processIdentifier.value
            let cleanup = SignalCleanup { kill(process, SIGTERM) }
            defer { cleanup.end() }
            async let message = Self.end(of: execution.standardError)
            let output = try await reading(execution.standardOutput)
            return (output, try await message)
        }
        let status =
            switch run.terminationStatus {
            case .exited(let code): code
            case .signaled(let signal): 128 + signal
            }
        return Ending(status: status, output: run.closureResult.0, words: Self.words(run.closureResult.1))
    }

    /// The last bytes of a stream, however long it is.
    private static func end(of output: SubprocessOutputSequence) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        for try await buffer in output {
            buffer.withUnsafeBytes { bytes.append(contentsOf: $0) }
            if bytes.count > 2 * messageByteLimit { bytes.removeFirst(bytes.count - messageByteLimit) }
        }
        return bytes
    }

    /// The last line of rclone's messages, without the time before it: `2026/11/30 02:24:27 `.
    static func words(_ message: [UInt8]) -> String {
        let line = message.split(separator: UInt8(ascii: "\n")).last { $0.contains { $0 > UInt8(ascii: " ") } } ?? []
        var bytes = Array(line)
        let marks: [(Int, UInt8)] = [
            (4, UInt8(ascii: "/")), (7, UInt8(ascii: "/")), (10, UInt8(ascii: " ")), (13, UInt8(ascii: ":")),
            (16, UInt8(ascii: ":")), (19, UInt8(ascii: " ")),
        ]
        if bytes.count > 20, marks.allSatisfy({ bytes[$0] == $1 }) { bytes.removeFirst(20) }
        return String(String(decoding: bytes, as: UTF8.self).prefix(shownLimit))
    }
}
