import Foundation
import Glibc

/// The signals pending for a thread, and its disposition of each.
///
/// Bit `n - 1` of a set is signal `n`. Related: proc_pid_status(5), `SigPnd` and the lines below it; signal(7).
struct PendingSignals {
    var pending: UInt64
    var blocked: UInt64
    var ignored: UInt64
    var caught: UInt64

    /// Whether one of them ends the process, or asks it to stop its current work.
    ///
    /// The kernel sets `SIGKILL` for every thread of a process killed by a signal.
    var areEnding: Bool {
        let arrived = pending & ~blocked & ~ignored
        return arrived & caught & Self.requests != 0 || arrived & ~caught & ~Self.harmless != 0
    }

    private static let requests = set(SIGHUP, SIGINT, SIGQUIT, SIGALRM, SIGTERM)
    /// Signals that a process without a handler ignores, or is stopped by.
    private static let harmless = set(SIGCHLD, SIGCONT, SIGURG, SIGWINCH, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU)

    private static func set(_ signals: Int32...) -> UInt64 { signals.reduce(0) { $0 | 1 << UInt64($1 - 1) } }

    init(pending: UInt64, blocked: UInt64, ignored: UInt64, caught: UInt64) {
        self.pending = pending
        self.blocked = blocked
        self.ignored = ignored
        self.caught = caught
    }

    /// - Parameter status: The contents of `/proc/TID/status`.
    /// - Returns: `nil` when a line is missing.
    init?(status: String) {
        var sets: [Substring: UInt64] = [:]
        for line in status.split(separator: "\n") {
            let parts = line.split(separator: ":\t", maxSplits: 1)
            if parts.count == 2, let set = UInt64(parts[1], radix: 16) { sets[parts[0]] = set }
        }
        guard let own = sets["SigPnd"], let shared = sets["ShdPnd"], let blocked = sets["SigBlk"],
            let ignored = sets["SigIgn"], let caught = sets["SigCgt"]
        else { return nil }
        self.init(pending: own | shared, blocked: blocked, ignored: ignored, caught: caught)
    }

    /// - Returns: `nil` when the thread has exited or belongs to another pid namespace.
    init?(ofThread thread: Int32) {
        guard thread > 0, let status = try? String(contentsOfFile: "/proc/\(thread)/status", encoding: .utf8) else {
            return nil
        }
        self.init(status: status)
    }
}
