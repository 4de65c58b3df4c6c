import Logging
import Synchronization
import VirtualTime

/// The events of a run, line by line: a fingerprint of all of them, and the last lines for a report.
final class Trace: Sendable {
    private struct State {
        var fingerprint = Fingerprint()
        var count = 0
        var last: [String] = []
        var next = 0
    }

    /// How many lines are kept.
    static let keptCount = 120

    private let state = Mutex(State())
    private let clock: VirtualClock
    private let isPrinted: Bool

    /// - Parameter isPrinted: Whether every line is printed to standard output at once.
    init(clock: VirtualClock, isPrinted: Bool) {
        self.clock = clock
        self.isPrinted = isPrinted
    }

    func note(_ text: String) {
        let time = clock.now
        let line = "\(time / .milliseconds(1)) ms \(text)"
        if isPrinted { print(line) }
        state.withLock { state in
            state.fingerprint.add(line)
            state.count += 1
            if state.last.count < Self.keptCount {
                state.last.append(line)
            } else {
                state.last[state.next] = line
                state.next = (state.next + 1) % Self.keptCount
            }
        }
    }

    /// The newest lines, the oldest of them first.
    var last: [String] { state.withLock { Array($0.last[$0.next...] + $0.last[..<$0.next]) } }

    /// Two runs with the same fingerprint were identical.
    var fingerprint: String { state.withLock { "\($0.count) lines, \(String($0.fingerprint.value, radix: 16))" } }
}

/// Adds a file system's log messages to the trace.
struct TraceLogHandler: LogHandler {
    let trace: Trace
    let device: String
    /// Removed from messages, since it differs in each run.
    let directory: String
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.debug

    init(trace: Trace, device: String, directory: String) {
        self.trace = trace
        self.device = device
        self.directory = directory
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let metadata = event.metadata.map { $0.map { "\($0.key)=\($0.value)" }.sorted().joined(separator: " ") } ?? ""
        let text = "\(event.message) \(metadata)".replacing(directory, with: "")
        trace.note("\(device) logs \(event.level): \(text)")
    }
}
