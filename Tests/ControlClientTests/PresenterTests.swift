import ControlAPI
import Model
import Testing

@testable import ControlClient

private let request = PresenterRequest(presenter: 7, path: "a.txt", methods: [.save, .didChange, .didMove])

@Suite(.timeLimit(.minutes(1))) struct PresenterTests {
    @Test func `a presenter is registered once the daemon confirms it, and its answers are sent back`() async throws {
        let daemon = try FakeDaemon { connection in
            try connection.open()
            #expect(try connection.next() == .present(request))
            try connection.send(
                .registered(presenter: 7), .ask(PresenterQuestion(question: 1, presenter: 7, message: .save)),
                .ask(PresenterQuestion(question: 2, presenter: 7, message: .relinquishToWriter)))
            #expect(try connection.next() == .answer(PresenterReply(question: 1)))
            #expect(try connection.next() == .answer(PresenterReply(question: 2, reacquires: true, error: "no")))
            try connection.send(.reacquire(presenter: 7, question: 2))
            #expect(try connection.next() == .withdraw(7))
            try connection.send(.registered(presenter: 7))
            connection.drain()
        }
        let journal = Journal<String>()
        let session = try await ControlSession.open(socketPath: daemon.socketPath)
        try await session.present(
            request,
            TestPresenter(journal) { question in
                PresenterAnswer(
                    reacquires: question.message == .relinquishToWriter, error: question.question == 2 ? "no" : nil)
            })
        #expect(
            try await journal.entries(count: 3) == ["ask save", "ask relinquishToWriter", "reacquire 2"])
        try await session.withdraw(7)
        try await session.withdraw(7)  // the second withdrawal sends nothing
        await session.close()
        #expect(try await daemon.requests()[0].count == 4)
    }

    @Test func `a presenter gets one message at a time, without delaying those to another presenter`() async throws {
        let daemon = try FakeDaemon { connection in
            try connection.open()
            for _ in 0..<2 {
                guard case .present(let request) = try connection.next() else { throw FakeDaemon.Ended() }
                try connection.send(.registered(presenter: request.presenter))
            }
            try connection.send(.ask(PresenterQuestion(question: 1, presenter: 7, message: .save)))
            for number in 1...3 {
                try connection.send(.notice(PresenterNews(presenter: 7, notice: .didChange, path: "slow\(number)")))
                try connection.send(.notice(PresenterNews(presenter: 8, notice: .didChange, path: "fast\(number)")))
            }
            connection.drain()
        }
        let slow = Journal<String>()
        let fast = Journal<String>()
        let gate = AsyncStream.makeStream(of: Void.self)
        let session = try await ControlSession.open(socketPath: daemon.socketPath)
        try await session.present(
            request,
            TestPresenter(slow) { _ in
                for await _ in gate.stream { break }
                return PresenterAnswer()
            })
        try await session.present(
            PresenterRequest(presenter: 8, path: "b.txt", methods: [.didChange]), TestPresenter(fast))
        #expect(try await fast.entries(count: 3) == ["didChange fast1", "didChange fast2", "didChange fast3"])
        #expect(try await slow.entries(count: 1) == ["ask save"])
        gate.continuation.yield()
        #expect(
            try await slow.entries(count: 4)
                == ["ask save", "didChange slow1", "didChange slow2", "didChange slow3"])
        await session.close()
    }

    @Test func `a refused registration throws, and the presenter may be registered again`() async throws {
        let daemon = try FakeDaemon { connection in
            try connection.open()
            _ = try connection.next()
            try connection.send(.refused(RequestRefused(code: .notFound, message: "no such item", presenter: 7)))
            _ = try connection.next()
            try connection.send(
                .registered(presenter: 7), .notice(PresenterNews(presenter: 7, notice: .didChange, path: "a.txt")))
            connection.drain()
        }
        let first = Journal<String>()
        let second = Journal<String>()
        let session = try await ControlSession.open(socketPath: daemon.socketPath)
        await #expect(throws: ControlError.refused(FileError(.notFound, "no such item"))) {
            try await session.present(request, TestPresenter(first))
        }
        try await session.present(request, TestPresenter(second))
        #expect(try await second.entries(count: 1) == ["didChange a.txt"])
        #expect(first.all == [])
        await session.close()
    }

    @Test func `a presenter may withdraw while it is being asked, and then sends no answer`() async throws {
        let seen = Journal<SessionRequest>()
        let daemon = try FakeDaemon { connection in
            try connection.open()
            _ = try connection.next()
            try connection.send(
                .registered(presenter: 7),
                .ask(PresenterQuestion(question: 1, presenter: 7, message: .accommodateEviction)),
                .ask(PresenterQuestion(question: 2, presenter: 7, message: .save)))
            seen.note(try connection.next())
            try connection.send(.registered(presenter: 7))
            connection.drain()
        }
        let journal = Journal<String>()
        let session = try await ControlSession.open(socketPath: daemon.socketPath)
        try await session.present(
            request,
            TestPresenter(journal) { _ in
                do {
                    try await session.withdraw(7)
                } catch {
                    Issue.record(error)
                }
                journal.note("withdrawn")
                return PresenterAnswer()
            })
        #expect(try await journal.entries(count: 2) == ["ask accommodateEviction", "withdrawn"])
        #expect(seen.all == [.withdraw(7)])
        await session.close()
        #expect(try await daemon.requests()[0].count == 2)
        #expect(journal.all.count == 2)
    }

    @Test func `a pending registration throws when the connection ends`() async throws {
        let daemon = try FakeDaemon { connection in
            try connection.open()
            _ = try connection.next()
        }
        let session = try await ControlSession.open(socketPath: daemon.socketPath)
        await #expect(throws: ControlError.daemonUnreachable("the connection ended")) {
            try await session.present(request, TestPresenter(Journal()))
        }
    }
}
