import Logging
import Model
import Replica
import Synchronization

/// Writes the placeholders of a directory into the backing directory when it is first visited, in the background: the
/// mount answers from the index and never waits for them.
final class PlaceholderWriter: Sendable {
    /// How many directories may be queued; one beyond that is written at its next visit.
    static let queueLimit = 4096

    private let replica: Replica
    private let logger: Logger
    private let written = Mutex<Set<InodeNumber>>([])
    private let visits: AsyncStream<InodeNumber>
    private let visit: AsyncStream<InodeNumber>.Continuation

    init(replica: Replica, logger: Logger) {
        self.replica = replica
        self.logger = logger
        (visits, visit) = AsyncStream.makeStream(
            of: InodeNumber.self, bufferingPolicy: .bufferingOldest(Self.queueLimit))
    }

    func visited(_ directory: InodeNumber) {
        guard written.withLock({ $0.insert(directory).inserted }) else { return }
        if case .dropped = visit.yield(directory) { _ = written.withLock { $0.remove(directory) } }
    }

    func run() async {
        for await directory in visits {
            // A cancelled stream still delivers its buffer, which may hold thousands of directories.
            if Task.isCancelled { return }
            do throws(FileError) {
                try replica.writePlaceholders(in: directory)
            } catch {
                _ = written.withLock { $0.remove(directory) }
                // A directory that was removed needs none, and a full disk must not fail a listing.
                logger.debug(
                    "failed to write placeholders", metadata: ["directory": "\(directory)", "error": "\(error)"])
            }
        }
    }
}
