import Foundation
import Glibc

/// The state that this process inherited and passes on to a command, and nothing else.
struct Inheritance {
    private let descriptors: Set<Int32>
    /// Whether SIGPIPE was ignored at startup; serving connections changes that.
    let ignoresBrokenPipes: Bool

    /// Must be called before any descriptor is opened.
    init() {
        descriptors = Set(Self.openDescriptors())
        var action = sigaction()
        sigaction(SIGPIPE, nil, &action)
        ignoresBrokenPipes = Self.isIgnored(action)
    }

    /// Sets close-on-exec on all descriptors opened since, so that a started program does not inherit them: a socket
    /// that outlives this process would keep the claim.
    func closeOthersOnExec() {
        for descriptor in Self.openDescriptors() where !descriptors.contains(descriptor) {
            // Fails for descriptors closed since.
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        }
    }

    static func isIgnored(_ action: sigaction) -> Bool {
        // SIG_IGN is the address 1.
        unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
    }

    private static func openDescriptors() -> [Int32] {
        // Without /proc, no mount can be found either.
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        // The descriptor used to read the directory is closed by now.
        return names.compactMap { Int32($0) }.filter { fcntl($0, F_GETFD) >= 0 }
    }
}
