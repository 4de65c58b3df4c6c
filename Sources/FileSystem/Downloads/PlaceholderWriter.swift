import Logging
import Model
import Replica
import Synchronization

/// Writes the placeholders of a directory into the backing directory when it is first visited, in the background: the mount answers
/// from the index and never waits for them.
final class PlaceholderWriter: Sendable {
    /// How many directories may wait; one more is written at its next visit.
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
            // A stream that is cancelled still gives what is in it, which may be thousands of directories.
            if Task.isCancelled { return }
            do throws(FileError) {
                try replica.writePlaceholders(in: directory)
            } catch {
                _ = written.withLock { $0.remove(directory) }
                // A directory that is gone needs none, and a full disk is no reason to fail a listing.
                logger.debug(
                    "failed to write placeholders", metadata: ["directory": "\(directory)", "error": "\(error)"])
            }
        }
    }
}
