import Ubiquity

/// The places of a scenario, and its ways to wait and to complain.
struct Scenario: Sendable {
    /// The mount of the device on which the program runs, and that of another one.
    let a: URL
    let b: URL
    /// A directory outside the containers, shared with the test.
    let directory: URL

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    init(a: String, b: String, directory: String) {
        self.a = URL(fileURLWithPath: a, isDirectory: true)
        self.b = URL(fileURLWithPath: b, isDirectory: true)
        self.directory = URL(fileURLWithPath: directory, isDirectory: true)
    }

    func check(_ condition: Bool, _ message: @autoclosure () -> String, line: Int = #line) throws {
        guard condition else { throw Failure(description: "line \(line): \(message())") }
    }

    func equal<Value: Equatable>(_ value: Value, _ expected: Value, line: Int = #line) throws {
        try check(value == expected, "\(value) is not \(expected)", line: line)
    }

    /// Waits up to 20 seconds.
    func eventually(
        _ message: @autoclosure () -> String, line: Int = #line, _ condition: () throws -> Bool
    ) async throws {
        for _ in 0..<2000 {
            if try condition() { return }
            try await Task.sleep(nanoseconds: 10_000_000)
        }
        throw Failure(description: "line \(line): waited in vain: \(message())")
    }

    /// Creates a file that the test waits for, and waits for one of the test's.
    func signal(_ name: String, andAwait answer: String) async throws {
        try Data().write(to: directory.appendingPathComponent(name))
        try await eventually("\(answer) is not there") {
            FileManager.default.fileExists(atPath: directory.appendingPathComponent(answer).path)
        }
    }

    /// Runs a shell script as a plain program that is no descendant of this one, and returns at once.
    func start(_ script: String, _ arguments: String...) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/setsid")
        // It is our descendant until the forking process has ended: before, its opens would not wait for our claims.
        let wait = #"while [ "$(cat "/proc/$(cut -d' ' -f4 /proc/$$/stat)/comm")" = setsid ]; do sleep 0.01; done"#
        process.arguments =
            ["--fork", "bash", "-c", wait + #"; exec timeout 60 bash "$@""#, "bash", "-c", script, "bash"] + arguments
        // Not waited for: Foundation would wait until the script has ended, whoever its parent is.
        try process.run()
    }

    /// Runs a command and returns its output; it must succeed.
    @discardableResult
    func run(_ arguments: String...) throws -> String {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/timeout")
        process.arguments = ["30"] + arguments
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        try check(process.terminationStatus == 0, "\(arguments): status \(process.terminationStatus)")
        return text
    }

    func text(_ url: URL) -> String? { (try? Data(contentsOf: url)).map { String(decoding: $0, as: UTF8.self) } }
}

/// A value behind a lock.
final class Box<Value>: @unchecked Sendable {
    // Guarded by the lock.
    private let lock = NSLock()
    private var stored: Value

    init(_ value: Value) { stored = value }

    var value: Value {
        get { lock.withLock { stored } }
        set { lock.withLock { stored = newValue } }
    }

    func change(_ body: (inout Value) -> Void) { lock.withLock { body(&stored) } }
}
