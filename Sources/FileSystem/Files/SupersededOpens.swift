import Synchronization

/// The threads whose open of a file was refused because the file was replaced while the open waited.
///
/// The kernel then looks the path up once more, and only once: where a file is replaced faster than an open for writing
/// gets through, a second refusal would reach the program as `ESTALE`. Instead it gets the file that has lost its name
/// meanwhile, as on ext4. Related: `do_filp_open` in Linux, fs/namei.c.
final class SupersededOpens: Sendable {
    /// How many threads are remembered: those that were ended before the kernel asked again are never forgotten.
    private static let limit = 1024

    private let threads = Mutex<Set<Int32>>([])

    /// Whether the open of a thread may be refused: not twice in a row.
    func mayRefuse(_ thread: Int32) -> Bool {
        threads.withLock { threads in
            if threads.remove(thread) != nil { return false }
            if threads.count >= Self.limit { threads.removeAll() }
            threads.insert(thread)
            return true
        }
    }

    /// A thread has opened a file.
    func opened(_ thread: Int32) {
        threads.withLock { threads in
            if !threads.isEmpty { threads.remove(thread) }
        }
    }
}
