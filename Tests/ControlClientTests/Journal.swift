import Synchronization

/// Records entries in order, and waits until there are enough.
final class Journal<Entry: Sendable & Equatable>: Sendable {
    private let entries = Mutex<[Entry]>([])

    /// The polling interval.
    private static var interval: Duration { .milliseconds(2) }
    /// The number of polls after which the test continues, and fails.
    private static var lookLimit: Int { 5000 }

    var all: [Entry] { entries.withLock { $0 } }

    func note(_ entry: Entry) { entries.withLock { $0.append(entry) } }

    /// - Returns: All entries, as soon as there are that many.
    func entries(count: Int) async throws -> [Entry] {
        for _ in 0..<Self.lookLimit where all.count < count { try await Task.sleep(for: Self.interval) }
        return all
    }
}
