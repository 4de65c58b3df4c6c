import ControlAPI
import ControlClient
import Foundation
import Model
import Synchronization
import Testing

extension RealMount.Claims {
    /// Records the notices that it receives.
    private final class Listener: PresenterHandler {
        private let heard = Mutex<[PresenterMethod]>([])

        func answer(_ question: PresenterQuestion) async -> PresenterAnswer { PresenterAnswer() }
        func reacquire(question: UInt64) async {}
        func receive(_ news: PresenterNews) async { heard.withLock { $0.append(news.notice) } }
        func hears(_ method: PresenterMethod) -> Bool { heard.withLock { $0.contains(method) } }
        func forget() { heard.withLock { $0 = [] } }
    }

    @Test func `after a daemon crash, a client reconnects with its presenters and loses its claims`() async throws {
        try await MountedContainer.with { container in
            let a = container.a
            try await a.write("f", byteCount: 10)
            let socket = try #require(
                ControlSocket.places(mountpoint: a.point, environment: container.environment, user: geteuid()).first)
            let isBack = Mutex(false)
            let session = try await ReconnectingSession.open(socketPath: socket.path) { event in
                if event == .reconnected { isBack.withLock { $0 = true } }
            }
            let listener = Listener()
            try await session.present(
                PresenterRequest(presenter: 1, path: "f", methods: [.didChange]), listener)
            let isLost = Mutex(false)
            _ = try await session.claim(ClaimRequest(claim: 1, items: [.init("f", writing: "plain")])) { _ in
            } onLoss: { _ in
                isLost.withLock { $0 = true }
            }
            try a.crash()
            try await a.mount()
            try await eventually("the client does not come back") { isBack.withLock { $0 } }
            #expect(isLost.withLock { $0 })
            listener.forget()
            // No claim blocks the write any more, and the presenter is registered again.
            try await Command.script(#"echo more >> "$1""#, a.path("f"), limit: .seconds(10))
            try await eventually("the presenter is not told") { listener.hears(.didChange) }
            await session.close()
        }
    }
}
