import FileSystem
import Glibc
import Model
import Replica
import Synchronization
import TestStores
import Testing

/// How presenters are notified of other devices' changes.
@Suite(.virtualTime, .timeLimit(.minutes(5))) struct PresentedItemTests {
    /// The presenter of one item, which records at each notice of a change whether the newest bytes are local by then.
    private final class Reader: Sendable {
        private let seen = Mutex<[Bool]>([])

        var hasSeenNewest: Bool { seen.withLock { $0.contains(true) } }

        func receive(_ event: SessionEvent, from device: TestDevice, _ path: String) {
            guard case .notice(let news) = event, news.notice == .didChange else { return }
            let isNewest = (try? device.fileSystem.replica.read { try $0.isCurrent($0.resolve(path)) }) ?? false
            seen.withLock { $0.append(isNewest) }
        }
    }

    @Test func `a presenter is notified again when the newer bytes of another device have arrived`() async throws {
        let store = FaultyStore(MemoryStore())
        let a = try await TestDevice.start(on: store, name: "A")
        let b = try await TestDevice.start(on: store, name: "B")
        try await a.write("one", to: "x")
        try await converge(a, b)
        #expect(try await b.read("x") == "one")
        var ends: [Int32] = [-1, -1]
        #expect(pipe(&ends) == 0)
        let reader = Reader()
        let session = try b.fileSystem.claims.open(process: getpid(), descriptor: ends[0]) { event in
            reader.receive(event, from: b, "x")
        } whenGone: {
        }
        try b.fileSystem.claims.present(PresenterRequest(presenter: 1, path: "x", methods: [.didChange]), from: session)
        try await a.write("two, longer", to: "x")
        try await converge(a, b)
        try await b.setAttribute("download", "wait", of: "x")
        #expect(try await holds { reader.hasSeenNewest })
        #expect(try await b.read("x") == "two, longer")
        b.fileSystem.claims.close(session)
        close(ends[1])
        try await a.close()
        try await b.close()
    }
}
