import Foundation

/// Runs a program and waits for its end.
enum Shell {
    struct Result {
        let status: Int32
        let output: String
        let errors: String
    }

    /// - Parameter arguments: The program's name, found by `PATH`, and its arguments.
    static func run(_ arguments: [String]) async throws -> Result {
        let directory = try TemporaryDirectory()
        // Files rather than pipes, so that nothing has to be read while the program runs.
        let files = try [directory.file("output"), directory.file("errors")].map { path in
            try Data().write(to: URL(filePath: path))
            return try FileHandle(forWritingTo: URL(filePath: path))
        }
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = arguments
        process.standardOutput = files[0]
        process.standardError = files[1]
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            process.terminationHandler = { _ in continuation.resume() }
            do { try process.run() } catch { continuation.resume(throwing: error) }
        }
        return Result(
            status: process.terminationStatus,
            output: try String(contentsOfFile: directory.file("output"), encoding: .utf8),
            errors: try String(contentsOfFile: directory.file("errors"), encoding: .utf8))
    }
}
