import Foundation
import Glibc
import Testing

@testable import dewpoint

/// The tests are serialized because signals are sent to the whole process.
@Suite(.serialized, .timeLimit(.minutes(1))) struct ChildProcessTests {
    private static func run(_ command: String...) async throws -> Int32 {
        try await ChildProcess(command, environment: [:], inheritance: Inheritance()).status()
    }

    private static func withFile(_ body: (String) async throws -> Void) async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "child-\(UUID().uuidString)").path()
        try await body(path)
        // A failure to remove the file must not fail the test.
        try? FileManager.default.removeItem(atPath: path)
    }

    @Test(arguments: [0, 1, 7, 255]) func `a command's exit status is passed on`(status: Int32) async throws {
        #expect(try await Self.run("sh", "-c", "exit \(status)") == status)
    }

    @Test func `a command killed by a signal has the exit status that a shell reports`() async throws {
        #expect(try await Self.run("sh", "-c", "kill -KILL $$") == 137)
        // This process catches SIGTERM and its threads block it, but the command has the default disposition.
        #expect(try await Self.run("sh", "-c", "kill -TERM $$") == 143)
    }

    @Test func `a missing command and a non-executable one fail with different exit statuses`() throws {
        for (command, status) in [
            ("no-such-command-here", dewpoint.ExitStatus.noSuchCommand), ("/etc/passwd", .notExecutable),
        ] {
            let failure = #expect(throws: CommandFailure.self) {
                try ChildProcess([command], environment: [:], inheritance: Inheritance())
            }
            #expect(failure?.status == status)
        }
    }

    @Test func `a command inherits the environment and gets the variables of the claim`() async throws {
        let child = try ChildProcess(
            ["sh", "-c", #"test "$DEWPOINT_CLAIM" = 88 && test -n "$PATH""#], environment: ["DEWPOINT_CLAIM": "88"],
            inheritance: Inheritance())
        #expect(await child.status() == 0)
    }

    @Test func `a command inherits the descriptors that this process was started with, and no others`() async throws {
        let given = open("/dev/null", O_RDONLY)
        let inheritance = Inheritance()
        // A number that no other test uses: one that was open a moment ago counts as given.
        let own = fcntl(given, F_DUPFD, 1000)
        defer {
            close(given)
            close(own)
        }
        let child = try ChildProcess(
            ["sh", "-c", "test -e /proc/self/fd/\(given) && ! test -e /proc/self/fd/\(own)"], environment: [:],
            inheritance: inheritance)
        #expect(await child.status() == 0)
    }

    @Test func `a command ignores SIGPIPE only if this process was started with it ignored`() async throws {
        let inheritance = Inheritance()
        // Not restored: the connections of other tests rely on it.
        signal(SIGPIPE, SIG_IGN)
        // The bit of signal 13, SIGPIPE, in SigIgn of proc_pid_status(5).
        let child = try ChildProcess(
            ["sh", "-c", "test $(( 0x$(sed -n 's/^SigIgn:.//p' /proc/$$/status) & 0x1000 )) = 0"], environment: [:],
            inheritance: inheritance)
        #expect(await child.status() == (inheritance.ignoresBrokenPipes ? 1 : 0))
    }

    @Test(arguments: SignalForwarding.signals) func `a signal is forwarded to the command`(signal: Int32) async throws {
        // The signal is ignored when the tests run in the background or with nohup(1).
        Glibc.signal(signal, SIG_DFL)
        try await Self.withFile { ready in
            let child = try ChildProcess(
                ["sh", "-c", "trap 'exit 9' \(signal); : > '\(ready)'; while :; do sleep 0.02; done"],
                environment: [:], inheritance: Inheritance())
            while access(ready, F_OK) != 0 { try await Task.sleep(for: .milliseconds(5)) }
            kill(getpid(), signal)
            #expect(await child.status() == 9)
        }
    }

    @Test func `a command stays in the process group, so that it gets the signals of the terminal`() async throws {
        #expect(try await Self.run("sh", "-c", "test $(ps -o pgid= -p $$) = \(getpgrp())") == 0)
    }

    @Test(arguments: [(0, 0), (0x0700, 7), (0xff00, 255), (9, 137), (0x8b, 139)])
    func `a wait status is converted to a shell exit status`(status: Int32, exitStatus: Int32) {
        #expect(ChildProcess.exitStatus(waitStatus: status) == exitStatus)
    }
}
