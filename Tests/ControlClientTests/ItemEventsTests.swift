import ControlAPI
import Glibc
import Model
import Testing

@testable import ControlClient

@Suite(.timeLimit(.minutes(1))) struct ItemEventsTests {
    private static let lines = [
        #"{"event":"following","path":"a b","time":"2026-01-31T12:00:00Z"}"#,
        #"{"event":"moved","from":"a b/x","path":"a b/y","process":7,"time":"2026-01-31T12:00:01Z"}"#,
    ]

    @Test func `events arrive as they happen, until the daemon ends the stream`() async throws {
        let heads = Journal<String>()
        let gate = Journal<Bool>()
        let daemon = try FakeDaemon { connection in
            heads.note(try connection.open(welcoming: false))
            try connection.send(line: Self.lines[0])
            while gate.all.isEmpty { usleep(1000) }
            try connection.send(line: String(Self.lines[1].prefix(20)), ending: "")
            try connection.send(line: String(Self.lines[1].dropFirst(20)))
            try connection.finish()
        }
        let client = ControlClient(socketPath: daemon.socketPath)
        var news: [ItemNews] = []
        for try await item in try await client.events("a b") {
            news.append(item)
            gate.note(true)  // the second line is sent only after the first one has arrived
        }
        #expect(news.map(\.event) == [.following, .moved])
        #expect(news.last?.from == "a b/x")
        #expect(news.last?.process == 7)
        #expect(
            try await heads.entries(count: 1).first?.split(separator: "\r\n").first
                == "GET /v1/events?path=a%20b HTTP/1.1")
    }

    @Test func `a lost connection throws instead of ending the events`() async throws {
        let daemon = try FakeDaemon { connection in
            try connection.open(welcoming: false)
            try connection.send(line: Self.lines[0])
        }
        let client = ControlClient(socketPath: daemon.socketPath)
        var events = try await client.events("").makeAsyncIterator()
        #expect(try await events.next()?.event == .following)
        let error = await #expect(throws: ControlError.self) { try await events.next() }
        guard case .daemonUnreachable = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test func `a refusal by the daemon is thrown before the first event`() async throws {
        let daemon = try FakeDaemon { try $0.refuse(ControlFault(FileError(.notFound, "no such item"))) }
        let client = ControlClient(socketPath: daemon.socketPath)
        _ = await #expect(throws: ControlError.refused(FileError(.notFound, "no such item"))) {
            try await client.events("x")
        }
    }

    @Test func `a claim is broken by its id`() async throws {
        let requests = Journal<String>()
        let daemon = try FakeDaemon { connection in
            let request = try connection.answerOnce(Done())
            requests.note("\(request.line) \(request.body)")
        }
        try await ControlClient(socketPath: daemon.socketPath).send(BreakRequest(id: 88))
        #expect(try await requests.entries(count: 1) == [#"POST /v1/claims/break HTTP/1.1 {"id":88}"#])
    }
}
