import Glibc

/// Reports the start of a daemon in the background to the command that started it: one line through a pipe.
///
///     ready [SENTENCE]         the mount and the control API answer, and what there is to know about it
///     error SENTENCE           they will not; the exit status says more
package struct Readiness: Sendable {
    /// The daemon's end of the pipe; `nil` without a pipe.
    private let descriptor: Int32?

    /// - Parameter descriptor: As given to `--ready-fd`.
    package init(descriptor: Int32?) {
        self.descriptor = descriptor
        // Programs started by the daemon, such as fusermount3, must not hold the pipe open.
        if let descriptor { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    }

    /// Whether a command waits for the report.
    package var isAwaited: Bool { descriptor != nil }

    /// - Parameter notice: A sentence about the mount for the command's user, if there is one.
    package func ready(notice: String? = nil) { say("ready", notice) }

    package func failed(_ sentence: String) { say("error", sentence) }

    private func say(_ word: String, _ sentence: String?) {
        let words = [word] + (sentence?.split(separator: "\n").map(String.init) ?? [])
        say(words.joined(separator: " ") + "\n")
    }

    private func say(_ line: String) {
        guard let descriptor else { return }
        let bytes = Array(line.utf8)
        // The starting command may have exited; the daemon continues, or exits, all the same.
        _ = write(descriptor, bytes, bytes.count)
        close(descriptor)
    }
}
