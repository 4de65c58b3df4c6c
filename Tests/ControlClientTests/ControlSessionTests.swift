import ControlAPI
import Model
import Testing

@testable import ControlClient

private let write = ClaimRequest(claim: 0, items: [.init("a.txt", writing: "plain")])

private let gone = ControlError.daemonUnreachable("the connection ended")

@Suite(.timeLimit(.minutes(1))) struct ControlSessionTests {
    @Test func `a session is one POST request with a streamed body`() async throws {
        let heads = Journal<String>()
        let daemon = try FakeDaemon {
            heads.note(try $0.open())
            $0.drain()
        }
        let session = try await ControlSession.open(socketPath: daemon.socketPath)
        #expect(session.client == 3)
        let head = try #require(try await heads.entries(count: 1).first)
        #expect(head.hasPrefix("POST /v1/session HTTP/1.1\r\n"))
        #expect(head.lowercased().contains("transfer-encoding: chunked"))
        await session.close()
        #expect(await session.ended() == .cancelled)
    }

    @Test func `a claim is granted, held and released`() async throws {
        let progress = Journal<ClaimProgress>()
        let daemon = try FakeDaemon { connection in
            try connection.open()
            let claim = try connection.nextClaim().claim
            try connection.send(.waiting(claim: claim, for: "vim(7)"))
            try connection.send(.downloading(claim: claim, bytesDone: 0, bytesTotal: 9))
            try connection.send(.granted(claim: claim, id: 88, paths: ["b.txt"]))
            #expect(try connection.next() == .release(claim))
            try connection.send(.released(claim: claim))
            connection.drain()
        }
        let session = try await ControlSession.open(socketPath: daemon.socketPath)
        let granted = try await session.claim(write, onProgress: { progress.note($0) })
        #expect(granted.id == 88)
        #expect(granted.paths == ["b.txt"])
        #expect(progress.all == [.waiting(for: "vim(7)"), .downloading(bytesDone: 0, bytesTotal: 9)])
        await session.release(granted)
        await session.release(granted)  // the second release sends nothing
        await session.close()
        #expect(try await daemon.requests()[0].count == 2)
    }

    @Test func `claims of a session have distinct numbers, and answers may come in any order`() async throws {
        let daemon = try FakeDaemon { connection in
            try connection.open()
            let first = try connection.nextClaim()
            let second = try connection.nextClaim()
            #expect(first.claim != second.claim)
            for request in [second, first] {
                try connection.send(.granted(claim: request.claim, id: 1, paths: request.items.map(\.path)))
            }
            connection.drain()
        }
        let session = try await ControlSession.open(socketPath: daemon.socketPath)
        async let one = session.claim(ClaimRequest(claim: 5, items: [.init("one", reading: [])]))
        async let two = session.claim(ClaimRequest(claim: 5, items: [.init("two", reading: [])]))
        #expect(try await one.paths == ["one"])
        #expect(try await two.paths == ["two"])
        await session.close()
    }

    @Test func `a claim that ends before it is granted throws the daemon's reason`() async throws {
        let daemon = try FakeDaemon { connection in
            try connection.open()
            let claim = try connection.nextClaim().claim
            try connection.send(.ended(ClaimEnded(claim: claim, reason: .timedOut, code: .timedOut, message: "late")))
            connection.drain()
        }
        let session = try await ControlSession.open(socketPath: daemon.socketPath)
        let failure = await #expect(throws: ClaimFailure.self) { try await session.claim(write) }
        guard case .ended(let end) = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(end.reason == .timedOut)
        #expect(end.message == "late")
        await session.close()
    }

    @Test func `a claim request larger than the daemon's limit is not sent`() async throws {
        let daemon = try FakeDaemon { connection in
            try connection.open()
            connection.drain()
        }
        let session = try await ControlSession.open(socketPath: daemon.socketPath)
        let items = (0..<300).map { ClaimRequest.Item(String(repeating: "x", count: 4000) + "\($0)", reading: []) }
        await #expect(throws: ClaimFailure.refused(FileError(.tooLarge, "a request has at most 1 MiB"))) {
            try await session.claim(ClaimRequest(claim: 0, items: items))
        }
        await session.close()
        #expect(try await daemon.requests()[0].isEmpty)
    }

    @Test func `a cancelled caller returns at once, and a claim granted afterwards is released`() async throws {
        let seen = Journal<String>()
        let daemon = try FakeDaemon { connection in
            try connection.open()
            let claim = try connection.nextClaim().claim
            seen.note("claim")
            #expect(try connection.next() == .cancel(claim))
            seen.note("cancel")
            try connection.send(.granted(claim: claim, id: 1, paths: ["a.txt"]))
            #expect(try connection.next() == .release(claim))
            seen.note("release")
            connection.drain()
        }
        let session = try await ControlSession.open(socketPath: daemon.socketPath)
        let call = Task { try await session.claim(write) }
        _ = try await seen.entries(count: 1)
        call.cancel()
        await #expect(throws: ClaimFailure.control(.cancelled)) { try await call.value }
        #expect(try await seen.entries(count: 3) == ["claim", "cancel", "release"])
        await session.close()
    }

    @Test func `a caller that was cancelled before the call gets no claim`() async throws {
        let daemon = try FakeDaemon { connection in
            try connection.open()
            connection.drain()
        }
        let session = try await ControlSession.open(socketPath: daemon.socketPath)
        let call = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await session.claim(write)
        }
        await #expect(throws: ClaimFailure.control(.cancelled)) { try await call.value }
        await session.close()
    }

    @Test(arguments: [false, true])
    func `when the daemon exits, waiting calls throw and held claims are lost`(isOrderly: Bool) async throws {
        let losses = Journal<ClaimEnded.Reason>()
        let daemon = try FakeDaemon { connection in
            try connection.open()
            let held = try connection.nextClaim().claim
            try connection.send(.granted(claim: held, id: 1, paths: ["a.txt"]))
            _ = try connection.nextClaim()
            if isOrderly { try connection.finish() }
        }
        let session = try await ControlSession.open(socketPath: daemon.socketPath)
        let held = try await session.claim(write, onLoss: { losses.note($0.reason) })
        let reason = isOrderly ? ControlError.daemonUnreachable("it ended the session") : gone
        await #expect(throws: ClaimFailure.control(reason)) { try await session.claim(write) }
        #expect(losses.all == [.revoked])
        #expect(await session.ended() == reason)
        await #expect(throws: ClaimFailure.control(reason)) { try await session.claim(write) }
        await session.release(held)
    }

    @Test func `closing the session does not report its claims as lost`() async throws {
        let losses = Journal<ClaimEnded.Reason>()
        let daemon = try FakeDaemon { connection in
            try connection.open()
            let claim = try connection.nextClaim().claim
            try connection.send(.granted(claim: claim, id: 1, paths: ["a.txt"]))
            connection.drain()
        }
        let session = try await ControlSession.open(socketPath: daemon.socketPath)
        _ = try await session.claim(write, onLoss: { losses.note($0.reason) })
        await session.close()
        #expect(losses.all.isEmpty)
    }

    @Test func `a revoked claim is reported as lost, and its release sends nothing`() async throws {
        let losses = Journal<String>()
        let daemon = try FakeDaemon { connection in
            try connection.open()
            let claim = try connection.nextClaim().claim
            try connection.send(
                .granted(claim: claim, id: 1, paths: ["a.txt"]),
                .ended(ClaimEnded(claim: claim, reason: .revoked, code: .cancelled, message: "broken")))
            connection.drain()
        }
        let session = try await ControlSession.open(socketPath: daemon.socketPath)
        let granted = try await session.claim(write, onLoss: { losses.note($0.message) })
        #expect(try await losses.entries(count: 1) == ["broken"])
        await session.release(granted)
        await session.close()
        #expect(try await daemon.requests()[0].count == 1)
    }

    @Test func `opening a session fails if there is no daemon or the daemon refuses`() async throws {
        await #expect(throws: ControlError.self) { try await ControlSession.open(socketPath: "/nonexistent/s") }
        let scripts: [@Sendable (FakeDaemon.Session) throws -> Void] = [
            { try $0.refuse(ControlFault(FileError(.busy, "1024 sessions"))) },
            {
                try $0.open(welcoming: false)
                try $0.send(.refused(RequestRefused(code: .busy, message: "1024 sessions")))
                try $0.finish()
            },
        ]
        for script in scripts {
            let daemon = try FakeDaemon(script)
            await #expect(throws: ControlError.refused(FileError(.busy, "1024 sessions"))) {
                try await ControlSession.open(socketPath: daemon.socketPath)
            }
        }
    }

    @Test func `a daemon that sends no welcome counts as unreachable`() async throws {
        let daemon = try FakeDaemon { connection in
            try connection.open(welcoming: false)
            connection.drain()
        }
        await #expect(throws: ControlError.daemonUnreachable("no answer within 1 s")) {
            try await ControlSession.open(socketPath: daemon.socketPath, answerLimit: .seconds(1))
        }
    }

    @Test func `a daemon that does not answer a release counts as unreachable`() async throws {
        let daemon = try FakeDaemon { connection in
            try connection.open()
            let claim = try connection.nextClaim().claim
            try connection.send(.granted(claim: claim, id: 1, paths: ["a.txt"]))
            connection.drain()
        }
        let session = try await ControlSession.open(socketPath: daemon.socketPath, answerLimit: .seconds(1))
        let granted = try await session.claim(write)
        await session.release(granted)
        #expect(await session.ended() == .daemonUnreachable("no answer within 1 s"))
    }

    @Test func `a line may arrive in parts, and an invalid line ends the session`() async throws {
        let daemon = try FakeDaemon { connection in
            try connection.open()
            let claim = try connection.nextClaim().claim
            try connection.send(line: #"{"granted":{"claim":\#(claim),"#, ending: "")
            try connection.send(line: #""id":1,"paths":["a.txt"]}}"#)
            _ = try connection.nextClaim()
            try connection.send(line: "what?")
            connection.drain()
        }
        let session = try await ControlSession.open(socketPath: daemon.socketPath)
        #expect(try await session.claim(write).paths == ["a.txt"])
        await #expect(throws: ClaimFailure.self) { try await session.claim(write) }
        guard case .notUnderstood = await session.ended() else {
            Issue.record("\(await session.ended())")
            return
        }
    }
}
