import ControlAPI
import Model
import Testing

@testable import ControlClient

/// A daemon of another user must not be able to send root's requests to root's own daemon.
@Suite(.timeLimit(.minutes(1))) struct RedirectTests {
    /// Asks a daemon that redirects to another one.
    ///
    /// - Returns: What was reported, and how often the other daemon was asked.
    private func redirected(
        _ status: Int, _ ask: (String) async throws -> Void
    ) async throws -> (error: ControlError?, count: Int) {
        let asked = Journal<Bool>()
        let other = try FakeDaemon { connection in
            asked.note(true)
            _ = try connection.answerOnce(Done())
        }
        let hostile = try FakeDaemon { try $0.redirect(status: status, to: other.socketPath) }
        let error = await #expect(throws: ControlError.self) { try await ask(hostile.socketPath) }
        return (error, asked.all.count)
    }

    private func expectRefused(_ status: Int, _ ask: (String) async throws -> Void) async throws {
        let (error, count) = try await redirected(status, ask)
        #expect(count == 0)
        guard case .notUnderstood(let reason) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(reason.hasPrefix("HTTP status \(status)"))
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func `a request that changes something is not sent elsewhere`(status: Int) async throws {
        try await expectRefused(status) { path in
            try await ControlClient(socketPath: path).send(UnmountRequest(lazily: true))
        }
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func `a question is not sent elsewhere`(status: Int) async throws {
        try await expectRefused(status) { path in
            _ = try await ControlClient(socketPath: path).send(ContainerStatusRequest())
        }
    }

    @Test(arguments: [302, 307])
    func `a blocking request is not sent elsewhere`(status: Int) async throws {
        try await expectRefused(status) { _ = try BlockingControlClient(socketPath: $0).send(EvictRequest(path: "a")) }
    }

    @Test(arguments: [302, 307])
    func `a stream is not taken from elsewhere`(status: Int) async throws {
        try await expectRefused(status) { path in
            for try await _ in ItemFollower.updates(socketPath: path, path: "") {}
        }
    }
}
