import Foundation
import Glibc
import Linux

/// A command run as a child process, with our terminal, files and process group.
struct ChildProcess {
    private let process: pid_t

    /// Starts a command, found through `PATH`, and forwards signals to it from now on.
    ///
    /// - Parameter environment: Added to our own variables.
    /// - Throws: ``ExitStatus/noSuchCommand`` and ``ExitStatus/notExecutable``. Related: `posix_spawnp(3)`.
    init(_ command: [String], environment: [String: String], inheritance: Inheritance) throws(CommandFailure) {
        let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        SignalForwarding.begin()
        inheritance.closeOthersOnExec()
        var process: pid_t = 0
        let error = Self.withStrings(command) { arguments in
            Self.withStrings(variables.map { "\($0.key)=\($0.value)" }) { variables in
                Self.spawn(&process, arguments, variables, inheritance)
            }
        }
        guard error == 0 else {
            SignalForwarding.end()
            let status: ExitStatus = error == ENOENT || error == ENOTDIR ? .noSuchCommand : .notExecutable
            throw CommandFailure(status, "\(command[0]): \(String(cString: strerror(error)))")
        }
        SignalForwarding.forward(to: process)
        self.process = process
    }

    /// Waits until the command has ended, on a thread of its own.
    ///
    /// - Returns: Its exit status, or 128 plus the number of the signal that killed it, as in a shell.
    func status() async -> Int32 {
        let process = process
        let status = await withCheckedContinuation { (done: CheckedContinuation<Int32, Never>) in
            Thread.detachNewThread {
                done.resume(returning: SystemCalls.wait(for: process) ?? 0)
            }
        }
        SignalForwarding.end()
        return Self.exitStatus(waitStatus: status)
    }

    /// Decodes the status of `waitpid(2)`: the signal in the low seven bits, the exit status in the next byte.
    static func exitStatus(waitStatus: Int32) -> Int32 {
        let signal = waitStatus & 0x7f
        return signal == 0 ? (waitStatus >> 8) & 0xff : 128 + signal
    }

    private typealias Strings = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>

    /// - Returns: An error number, or 0.
    private static func spawn(
        _ process: inout pid_t, _ arguments: Strings, _ variables: Strings, _ inheritance: Inheritance
    ) -> Int32 {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        var defaults = none
        if !inheritance.ignoresBrokenPipes { sigaddset(&defaults, SIGPIPE) }
        // Our threads block signals; the command must start with none blocked.
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        return posix_spawnp(&process, arguments[0]!, nil, &attributes, arguments, variables)
    }

    private static func withStrings<Value>(_ strings: [String], _ body: (Strings) -> Value) -> Value {
        var pointers = strings.map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        return pointers.withUnsafeMutableBufferPointer { body($0.baseAddress!) }
    }
}
