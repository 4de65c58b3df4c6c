import Glibc
import Synchronization

/// Hands the signals that end programs on to a child, so that it decides what becomes of them.
enum SignalForwarding {
    /// What `timeout(1)` hands on, and what a terminal can send.
    static let signals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]

    /// Catches the signals from now on. Those that were ignored when we were started (`nohup`) stay so, for the child too.
    static func begin() {
        // Touched here, since a signal's handler must not initialise anything.
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

    /// From now on the signals end us, as ever.
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

/// Who gets the signals.
private let receiver = Atomic<pid_t>(0)
/// A signal that came before there was somebody to get it.
private let early = Atomic<Int32>(0)

/// Runs as a signal's handler: it may only call what `signal-safety(7)` lists.
private func handle(signal: Int32, information: UnsafeMutablePointer<siginfo_t>?, context: UnsafeMutableRawPointer?) {
    // A terminal sends to its whole foreground group, the child included: a second one would mean something else.
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
