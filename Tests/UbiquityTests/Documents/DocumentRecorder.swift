import Synchronization

/// What observers and overrides saw, in order, on whatever thread.
final class DocumentRecorder: Sendable {
    private let entries = Mutex<[String]>([])

    func add(_ entry: String) { entries.withLock { $0.append(entry) } }

    var all: [String] { entries.withLock { $0 } }
}
