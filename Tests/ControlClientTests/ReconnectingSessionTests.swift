import ControlAPI
import Model
import Synchronization
import Testing

@testable import ControlClient

@Suite(.timeLimit(.minutes(1))) struct ReconnectingSessionTests {
    /// Serves connections in sequence: the first one hangs up after it has granted a claim.
    private static func daemon(_ second: @escaping @Sendable (FakeDaemon.Session) throws -> Void) throws -> FakeDaemon {
        let count = Atomic(0)
        return try FakeDaemon { connection in
            try connection.open()
            guard count.wrappingAdd(1, ordering: .relaxed).oldValue == 0 else { return try second(connection) }
            guard case .present(let presenter) = try connection.next() else { throw FakeDaemon.Ended() }
            try connection.send(.registered(presenter: presenter.presenter))
            let moved = PresenterNews(presenter: presenter.presenter, notice: .didMove, path: "moved.txt")
            try connection.send(.notice(moved))
            let claim = try connection.nextClaim().claim
            try connection.send(.granted(claim: claim, id: 1, paths: ["a.txt"]))
            _ = try connection.nextClaim()  // never granted
        }
    }

    @Test func `reconnecting registers presenters at their items' current paths and loses claims`() async throws {
        let daemon = try Self.daemon { connection in
            guard case .present(let presenter) = try connection.next() else { throw FakeDaemon.Ended() }
            #expect(presenter == PresenterRequest(presenter: 7, path: "moved.txt", methods: [.didMove]))
            try connection.send(
                .registered(presenter: 7), .notice(PresenterNews(presenter: 7, notice: .didChange, path: "again")))
            let claim = try connection.nextClaim().claim
            try connection.send(.granted(claim: claim, id: 2, paths: ["b.txt"]))
            connection.drain()
        }
        let events = Journal<ReconnectingSession.Event>()
        let journal = Journal<String>()
        let losses = Journal<ClaimEnded.Reason>()
        let session = try await ReconnectingSession.open(socketPath: daemon.socketPath, onEvent: { events.note($0) })
        try await session.present(
            PresenterRequest(presenter: 7, path: "a.txt", methods: [.didMove]), TestPresenter(journal))
        #expect(try await journal.entries(count: 1) == ["didMove moved.txt"])
        let items = [ClaimRequest.Item("a.txt", reading: [])]
        let held = try await session.claim(ClaimRequest(claim: 0, items: items), onLoss: { losses.note($0.reason) })
        await #expect(throws: ClaimFailure.control(.daemonUnreachable("the connection ended"))) {
            try await session.claim(ClaimRequest(claim: 0, items: items))
        }
        #expect(try await losses.entries(count: 1) == [.revoked])
        #expect(
            try await events.entries(count: 2) == [.lost(.daemonUnreachable("the connection ended")), .reconnected])
        #expect(try await journal.entries(count: 2).last == "didChange again")
        await session.release(held)  // belongs to the first connection: nothing is sent on the second
        #expect(try await session.claim(ClaimRequest(claim: 0, items: items)).id == 2)
        await session.close()
        #expect(try await daemon.requests()[1].count == 2)
    }

    /// Serves connections in sequence: the first daemon grants a claim, lets another wait, and is killed.
    private static func survivingDaemon(
        _ second: @escaping @Sendable (FakeDaemon.Session) throws -> Void
    ) throws -> FakeDaemon {
        let count = Atomic(0)
        return try FakeDaemon { connection in
            let number = count.wrappingAdd(1, ordering: .relaxed).oldValue
            try connection.open(client: 3 + UInt64(number), keepsClaims: true)
            guard number == 0 else { return try second(connection) }
            let claim = try connection.nextClaim().claim
            try connection.send(.granted(claim: claim, id: 1, paths: ["a.txt"]))
            _ = try connection.nextClaim()
        }
    }

    @Test func `where the mount goes on, held claims stay held and waiting ones are requested again`() async throws {
        let daemon = try Self.survivingDaemon { connection in
            let held = try connection.nextClaim()
            #expect(held.heldBy == 3 && held.items == [.init("a.txt", writing: "plain")])
            try connection.send(.granted(claim: held.claim, id: 1, paths: ["moved.txt"]))
            let waiting = try connection.nextClaim()
            #expect(waiting.heldBy == nil && waiting.claim > held.claim)
            try connection.send(.granted(claim: waiting.claim, id: 2, paths: ["b.txt"]))
            guard case .release(held.claim) = try connection.next() else { throw FakeDaemon.Ended() }
            try connection.send(.released(claim: held.claim))
            connection.drain()
        }
        let losses = Journal<ClaimEnded>()
        let session = try await ReconnectingSession.open(socketPath: daemon.socketPath)
        let held = try await session.claim(
            ClaimRequest(claim: 0, items: [.init("a.txt", writing: "plain")]), onLoss: { losses.note($0) })
        let other = try await session.claim(ClaimRequest(claim: 0, items: [.init("b.txt", reading: [])]))
        #expect(other.id == 2)
        await session.release(held)
        await session.close()
        #expect(try await losses.entries(count: 0) == [])
    }

    @Test func `a claim that the next daemon does not keep is reported as lost`() async throws {
        let daemon = try Self.survivingDaemon { connection in
            let held = try connection.nextClaim().claim
            try connection.send(
                .ended(ClaimEnded(claim: held, reason: .invalid, code: .unreachable, message: "it was lost")))
            connection.drain()
        }
        let losses = Journal<String>()
        let session = try await ReconnectingSession.open(socketPath: daemon.socketPath)
        _ = try await session.claim(
            ClaimRequest(claim: 0, items: [.init("a.txt", writing: "plain")]), onLoss: { losses.note($0.message) })
        let waiting = Journal<ClaimFailure?>()
        session.claim(ClaimRequest(claim: 0, items: [.init("b.txt", reading: [])])) { result in
            if case .failure(let failure) = result { waiting.note(failure) } else { waiting.note(nil) }
        }
        #expect(try await losses.entries(count: 1) == ["it was lost"])
        await session.close()
        #expect(try await waiting.entries(count: 1) == [.control(.cancelled)])
    }

    @Test func `a claim is lost when no daemon takes over`() async throws {
        var daemon: FakeDaemon? = try Self.survivingDaemon { $0.drain() }
        let losses = Journal<String>()
        let session = try await ReconnectingSession.open(socketPath: try #require(daemon?.socketPath))
        _ = try await session.claim(
            ClaimRequest(claim: 0, items: [.init("a.txt", writing: "plain")]), onLoss: { losses.note($0.message) })
        daemon?.hangUp()
        daemon = nil
        #expect(
            try await losses.entries(count: 1)
                == ["the claim was lost: \(ControlError.daemonUnreachable("the connection ended"))"])
        await session.close()
    }

    @Test func `a presenter that is refused after a reconnection is dropped and reported`() async throws {
        let daemon = try Self.daemon { connection in
            _ = try connection.next()
            try connection.send(.refused(RequestRefused(code: .notFound, message: "gone", presenter: 7)))
            connection.drain()
        }
        let events = Journal<ReconnectingSession.Event>()
        let session = try await ReconnectingSession.open(socketPath: daemon.socketPath, onEvent: { events.note($0) })
        try await session.present(
            PresenterRequest(presenter: 7, path: "a.txt", methods: []), TestPresenter(Journal()))
        daemon.hangUp()
        #expect(
            try await events.entries(count: 3).dropFirst()
                == [.presenterRefused(7, .refused(FileError(.notFound, "gone"))), .reconnected])
        await session.close()
    }

    @Test func `while there is no daemon, claims fail at once, and presenters are accepted`() async throws {
        var daemon: FakeDaemon? = try FakeDaemon { connection in
            try connection.open()
            connection.drain()
        }
        let events = Journal<ReconnectingSession.Event>()
        let path = try #require(daemon?.socketPath)
        let session = try await ReconnectingSession.open(socketPath: path, onEvent: { events.note($0) })
        daemon?.hangUp()
        daemon = nil
        _ = try await events.entries(count: 1)
        await #expect(throws: ClaimFailure.control(.daemonUnreachable("the connection ended"))) {
            try await session.claim(ClaimRequest(claim: 0, items: [.init("a", reading: [])]))
        }
        try await session.present(PresenterRequest(presenter: 7, path: "a", methods: []), TestPresenter(Journal()))
        await session.withdraw(7)
        await session.close()
        await #expect(throws: ClaimFailure.control(.cancelled)) {
            try await session.claim(ClaimRequest(claim: 0, items: [.init("a", reading: [])]))
        }
    }

    @Test func `a presenter that was added without a daemon is registered when there is one`() async throws {
        let daemon = try FakeDaemon { connection in
            try connection.open()
            guard case .present(let presenter) = try connection.next() else { throw FakeDaemon.Ended() }
            try connection.send(
                .registered(presenter: presenter.presenter),
                .notice(PresenterNews(presenter: presenter.presenter, notice: .didChange, path: "now")))
            connection.drain()
        }
        let path = Mutex<String?>(nil)
        let session = ReconnectingSession(socketPath: { path.withLock { $0 } })
        let journal = Journal<String>()
        try await session.present(
            PresenterRequest(presenter: 7, path: "a.txt", methods: [.didChange]), TestPresenter(journal))
        path.withLock { $0 = daemon.socketPath }
        #expect(try await journal.entries(count: 1) == ["didChange now"])
        await session.close()
    }
}
