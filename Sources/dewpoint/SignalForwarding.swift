import Glibc
import Synchronization

/// Forwards the signals that end programs to a child, which then decides how to react.
enum SignalForwarding {
    /// The signals that `timeout(1)` forwards, and those that a terminal can send.
    static let signals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]

    /// Catches the signals from now on. Those ignored at startup (`nohup`) stay ignored, for the child too.
    static func begin() {
        // Initialised here, since a signal handler must not initialise globals.
        receiver.store(0, ordering: .relaxed)
        early.store(0, ordering: .relaxed)
        for signal in signals {
            var action = sigaction()
            sigaction(signal, nil, &action)
            guard !Inheritance.isIgnored(action) else { continue }
            action = sigaction()
            action.sa_flags = SA_SIGINFO | SA_RESTART
            action.__sigaction_handler.sa_sigaction = handle
            sigaction(signal, &action, nil)
        }
    }

    static func forward(to process: pid_t) {
        receiver.store(process, ordering: .sequentiallyConsistent)
        let signal = early.exchange(0, ordering: .sequentiallyConsistent)
        if signal > 0 { kill(process, signal) }
    }

    /// Restores the default effect of the signals.
    static func end() {
        receiver.store(0, ordering: .sequentiallyConsistent)
        for signal in signals {
            var action = sigaction()
            sigaction(signal, nil, &action)
            guard !Inheritance.isIgnored(action) else { continue }
            action = sigaction()
            action.__sigaction_handler.sa_handler = SIG_DFL
            sigaction(signal, &action, nil)
        }
    }
}

/// The process that gets the signals.
private let receiver = Atomic<pid_t>(0)
/// A signal that arrived before the child existed.
private let early = Atomic<Int32>(0)

/// Runs as a signal handler: it may only call functions listed in `signal-safety(7)`.
private func handle(signal: Int32, information: UnsafeMutablePointer<siginfo_t>?, context: UnsafeMutableRawPointer?) {
    // A terminal signals its whole foreground group, the child included: a second signal would have another meaning.
    guard let information, information.pointee.si_code <= 0 else { return }
    let number = errno
    let process = receiver.load(ordering: .sequentiallyConsistent)
    if process > 0 {
        kill(process, signal)
    } else {
        early.store(signal, ordering: .sequentiallyConsistent)
    }
    errno = number
}
