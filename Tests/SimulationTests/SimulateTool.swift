import Foundation

/// The tool that runs simulations, as a program of its own: what it does must not hang on the process that it runs in.
struct SimulateTool {
    let status: Int32
    let output: String

    /// How long a run may take, in seconds: a seed takes about one in a debug build.
    private static let limitSeconds = 300

    static func run(_ arguments: String...) throws -> SimulateTool {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/timeout")
        process.arguments = ["--kill-after=5", "\(limitSeconds)", path] + arguments
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return SimulateTool(status: process.terminationStatus, output: text)
    }

    /// It is built beside the tests.
    private static var path: String {
        URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: "simulate").path
    }
}
