import Foundation

/// The tool `simulate` as a separate program, so that its runs do not depend on the process of the tests.
struct SimulateTool {
    let status: Int32
    let output: String

    /// How long a run may take, in seconds: a seed takes about one second in a debug build.
    private static let limitSeconds = 300

    /// The interval at which a running tool is checked. Nothing here blocks: tests share one thread per processor.
    private static let interval = Duration.milliseconds(50)

    /// - Parameter openFileLimit: How many files the tool may have open.
    static func run(_ arguments: String..., openFileLimit: Int? = nil) async throws -> SimulateTool {
        let file = FileManager.default.temporaryDirectory.appending(path: "simulate-\(UUID().uuidString)")
        try Data().write(to: file)
        // A leftover in the temporary directory does not fail the test.
        defer { try? FileManager.default.removeItem(at: file) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/timeout")
        let limit = openFileLimit.map { ["sh", "-c", "ulimit -n \($0); exec \"$@\"", "sh"] } ?? []
        process.arguments = ["--kill-after=5", "\(limitSeconds)"] + limit + [path] + arguments
        process.standardOutput = try FileHandle(forWritingTo: file)
        try process.run()
        while process.isRunning { try await Task.sleep(for: interval) }
        return SimulateTool(
            status: process.terminationStatus, output: String(decoding: try Data(contentsOf: file), as: UTF8.self))
    }

    /// The tool is built beside the tests.
    private static var path: String {
        URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: "simulate").path
    }
}
