import CLinux
import Dispatch
import Glibc

/// Tells when a process is gone, by a descriptor that stands for that very process and for no later one of its number.
///
/// Related: pidfd_open(2), `SO_PEERPIDFD` in unix(7).
///
/// `@unchecked Sendable`: a dispatch source may be cancelled from any thread, and nothing else is done to it.
final class HolderWatch: @unchecked Sendable {
    /// Of its own, so that no other work makes a death wait.
    private static let queue = DispatchQueue(label: "dewpoint.holders")
    private let source: any DispatchSourceRead

    /// - Parameters:
    ///   - descriptor: A pidfd of the process if there is one already; it is closed here.
    ///   - whenGone: Called once, on a thread of its own; also when the process was gone before.
    /// - Returns: `nil` where the kernel has no pidfd, or the process is of a namespace that is not seen from here.
    init?(process: Int32, descriptor: Int32?, whenGone: @escaping @Sendable () -> Void) {
        let file = descriptor ?? CLinux_pidfd_open(process, 0)
        if file < 0 {
            // It has ended between its connecting and now.
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
