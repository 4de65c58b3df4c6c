import Logging
import Synchronization

/// What a device of a test logs at level `warning` and above.
final class TestLog: Sendable {
    private let messages = Mutex<[String]>([])

    var logger: Logger { Logger(label: "test") { [self] _ in Handler(sink: self) } }

    /// How often a message was logged.
    func count(_ message: String) -> Int { messages.withLock { $0.count { $0 == message } } }

    private struct Handler: LogHandler {
        let sink: TestLog
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.warning

        init(sink: TestLog) { self.sink = sink }

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) { sink.messages.withLock { $0.append("\(event.message)") } }
    }
}
