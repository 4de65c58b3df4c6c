import Foundation
import Programs

/// The tool `simulate` as a separate program, so that its runs do not depend on the process of the tests.
struct SimulateTool {
    let status: Int32
    let output: String

    /// How long a run may take, in seconds: a seed takes about one second in a debug build.
    private static let limitSeconds = 300

    /// - Parameter openFileLimit: How many files the tool may have open.
    static func run(_ arguments: String..., openFileLimit: Int? = nil) async throws -> SimulateTool {
        let limit = openFileLimit.map { ["sh", "-c", "ulimit -n \($0); exec \"$@\"", "sh"] } ?? []
        let result = try await Program.result(
            of: ["timeout", "--kill-after=5", "\(limitSeconds)"] + limit + [path] + arguments)
        return SimulateTool(status: result.status, output: result.output)
    }

    /// The tool is built beside the tests; or the path in `DEWPOINT_SIMULATE`, that of a release build say.
    private static var path: String {
        ProcessInfo.processInfo.environment["DEWPOINT_SIMULATE"]
            ?? URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: "simulate")
            .path
    }
}
