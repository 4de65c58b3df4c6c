import CLinux
import Dispatch
import Glibc

/// Reports the exit of a process, by a pidfd: it refers to that very process and not to a later one with the same id.
///
/// Related: pidfd_open(2), `SO_PEERPIDFD` in unix(7).
///
/// `@unchecked Sendable`: a dispatch source may be cancelled from any thread, and no other method of it is called.
final class HolderWatch: @unchecked Sendable {
    /// A queue of its own, so that no other work delays the report.
    private static let queue = DispatchQueue(label: "dewpoint.holders")
    private let source: any DispatchSourceRead

    /// - Parameters:
    ///   - descriptor: A pidfd of the process if there is one already; closed by this call.
    ///   - whenGone: Called once, on a thread of its own; also when the process had exited before.
    /// - Returns: `nil` where the kernel has no pidfd, or the process belongs to a pid namespace that is not visible
    ///   from here.
    init?(process: Int32, descriptor: Int32?, whenGone: @escaping @Sendable () -> Void) {
        let file = descriptor ?? CLinux_pidfd_open(process, 0)
        if file < 0 {
            // The process exited after it had connected.
            if errno == ESRCH { whenGone() }
            return nil
        }
        let source = DispatchSource.makeReadSource(fileDescriptor: file, queue: Self.queue)
        self.source = source
        source.setEventHandler {
            source.cancel()
            whenGone()
        }
        source.setCancelHandler { close(file) }
        source.activate()
    }

    func cancel() { source.cancel() }
}
