import Foundation
import Glibc
import Synchronization

/// Work that is done before SIGINT, SIGTERM or SIGHUP ends the program, such as removing what nobody else removes. The
/// same signal again ends it at once.
package final class SignalCleanup: Sendable {
    private static let signals = [SIGINT, SIGTERM, SIGHUP]
    private static let pending = Mutex<[ObjectIdentifier: @Sendable () -> Void]>([:])
    private static let isInstalled = Mutex(false)

    /// - Parameter work: Done by a thread of its own, while the others go on.
    package init(_ work: @escaping @Sendable () -> Void) {
        Self.install()
        Self.pending.withLock { $0[ObjectIdentifier(self)] = work }
    }

    /// Nothing is to be done any more.
    package func end() { Self.pending.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(self)) } }

    private static func install() {
        let isFirst = isInstalled.withLock { isInstalled in
            defer { isInstalled = true }
            return !isInstalled
        }
        var ends: [Int32] = [-1, -1]
        // Without a pipe, the signals have their usual effect.
        guard isFirst, pipe(&ends) == 0 else { return }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        writeEnd.store(ends[1], ordering: .sequentiallyConsistent)
        let readEnd = ends[0]
        Thread.detachNewThread { wait(readEnd) }
        for signal in signals {
            var action = sigaction()
            sigaction(signal, nil, &action)
            // Ignored since the start (`nohup`), or somebody else's.
            guard unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 0 else { continue }
            action = sigaction()
            action.sa_flags = SA_RESTART | Int32(bitPattern: UInt32(SA_RESETHAND))
            action.__sigaction_handler.sa_handler = note
            sigaction(signal, &action, nil)
        }
    }

    private static func wait(_ readEnd: Int32) {
        var number: UInt8 = 0
        while read(readEnd, &number, 1) != 1 {}
        for work in pending.withLock({ Array($0.values) }) { work() }
        let signal = Int32(number)
        // That of the handler is gone with its first use.
        var own = sigset_t()
        sigemptyset(&own)
        sigaddset(&own, signal)
        pthread_sigmask(SIG_UNBLOCK, &own, nil)
        raise(signal)
    }
}

private let writeEnd = Atomic<Int32>(-1)

/// Runs as a signal handler: it may only call functions listed in `signal-safety(7)`.
private func note(signal: Int32) {
    let number = errno
    var byte = UInt8(truncatingIfNeeded: signal)
    _ = write(writeEnd.load(ordering: .sequentiallyConsistent), &byte, 1)
    errno = number
}
