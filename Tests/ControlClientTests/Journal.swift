import Synchronization

/// What happened, in order, and a way to wait until enough has.
final class Journal<Entry: Sendable & Equatable>: Sendable {
    private let entries = Mutex<[Entry]>([])

    /// How often it is looked whether there is more.
    private static var interval: Duration { .milliseconds(2) }
    /// After that many looks the test goes on, and fails.
    private static var lookLimit: Int { 5000 }

    var all: [Entry] { entries.withLock { $0 } }

    func note(_ entry: Entry) { entries.withLock { $0.append(entry) } }

    /// - Returns: All entries, as soon as there are that many.
    func entries(count: Int) async throws -> [Entry] {
        for _ in 0..<Self.lookLimit where all.count < count { try await Task.sleep(for: Self.interval) }
        return all
    }
}
