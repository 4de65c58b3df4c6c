import Foundation
import Glibc

/// What this process was started with and hands on to a command that it runs, and nothing else.
struct Inheritance {
    private let descriptors: Set<Int32>
    /// Whether writing to a closed pipe did not end us; what serves connections changes that.
    let ignoresBrokenPipes: Bool

    /// To be made before anything is opened.
    init() {
        descriptors = Set(Self.openDescriptors())
        var action = sigaction()
        sigaction(SIGPIPE, nil, &action)
        ignoresBrokenPipes = Self.isIgnored(action)
    }

    /// Marks all descriptors that were opened since, so that a program which is started does not get them: a socket that
    /// outlives us would keep the claim.
    func closeOthersOnExec() {
        for descriptor in Self.openDescriptors() where !descriptors.contains(descriptor) {
            // Fails for what has been closed since.
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        }
    }

    static func isIgnored(_ action: sigaction) -> Bool {
        // SIG_IGN is the address 1.
        unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
    }

    private static func openDescriptors() -> [Int32] {
        // Without /proc nothing is mounted for us either.
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        // The one that the directory was read through is closed by now.
        return names.compactMap { Int32($0) }.filter { fcntl($0, F_GETFD) >= 0 }
    }
}
