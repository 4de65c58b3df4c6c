import Foundation
import Glibc

/// A command that prints the passphrase, run by the shell with our terminal.
struct PassphraseCommand {
    /// How long it may take, with what it asks a person: 5 min.
    private static let limit = Duration.seconds(300)
    /// How long it may go on after its first line, and what it has started after its own end: 1 s.
    private static let grace = Duration.seconds(1)
    /// How often it is looked whether it has ended: every 20 ms.
    private static let interval: UInt32 = 20

    private let command: String

    init(_ command: String) { self.command = command }

    /// - Returns: Its first line, with the end; what follows is not waited for.
    /// - Throws: ``CommandFailure`` with `denied` when it fails.
    func output() throws(CommandFailure) -> Data {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-c", command]
        process.standardOutput = pipe
        do { try process.run() } catch { throw failure(error.localizedDescription) }
        let clock = ContinuousClock()
        var line = FirstLine()
        var end = clock.now + Self.limit
        while !line.isComplete, clock.now < end {
            if Self.hasEnded(process) { end = min(end, clock.now + Self.grace) }
            line.read(from: pipe.fileHandleForReading.fileDescriptor, waiting: Self.interval)
        }
        guard line.isComplete || Self.hasEnded(process) else {
            Self.end(process)
            throw failure("it took longer than \(Self.limit.components.seconds / 60) minutes")
        }
        end = clock.now + Self.grace
        while process.isRunning, clock.now < end { usleep(Self.interval * 1000) }
        if process.isRunning {
            if !Self.hasEnded(process) { Self.end(process) }
        } else if process.terminationReason != .exit || process.terminationStatus != 0 {
            throw failure("it ended with status \(process.terminationStatus)")
        }
        guard !line.bytes.isEmpty else { throw failure("it printed nothing") }
        return line.bytes
    }

    /// Whether the shell itself has ended: for Foundation it runs as long as anything that it has started.
    private static func hasEnded(_ process: Process) -> Bool {
        var information = siginfo_t()
        let result = waitid(P_PID, id_t(process.processIdentifier), &information, WEXITED | WNOHANG | WNOWAIT)
        return result != 0 || information.si_signo == SIGCHLD
    }

    /// With what it has started, unless the shell is in our own group.
    private static func end(_ process: Process) {
        let id = process.processIdentifier
        if getpgid(id) == id { kill(-id, SIGTERM) } else { process.terminate() }
    }

    private func failure(_ reason: String) -> CommandFailure {
        CommandFailure(.denied, "\(PassphraseEnvironment.commandVariable) gives no passphrase: \(reason)")
    }
}
