import Glibc

/// How a daemon in the background tells the command that started it how it went: one line through a pipe.
///
///     ready                    the mount and the control API answer
///     error SENTENCE           they will not; the exit status says more
package struct Readiness: Sendable {
    /// The pipe's end in the daemon; `nil` when nobody asked.
    private let descriptor: Int32?

    /// - Parameter descriptor: As given to `--ready-fd`.
    package init(descriptor: Int32?) {
        self.descriptor = descriptor
        // What the daemon starts, such as fusermount3, must not hold the pipe open.
        if let descriptor { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    }

    package func ready() { say("ready\n") }

    package func failed(_ sentence: String) { say("error \(sentence.split(separator: "\n").joined(separator: " "))\n") }

    private func say(_ line: String) {
        guard let descriptor else { return }
        let bytes = Array(line.utf8)
        // Whoever asked may be gone; the daemon goes on, or ends, all the same.
        _ = write(descriptor, bytes, bytes.count)
        close(descriptor)
    }
}
