import Control
import FileSystem
import Foundation
import Model
import Remote
import Replica
import TestStores
import Testing
import VirtualTime

@testable import Sync

/// Devices that tell each other of commits see them at once, and ask the store less often; nothing else follows from a hint.
@Suite(.virtualTime, .timeLimit(.minutes(5))) struct HintTests {
    /// A store that reports nothing, like a bucket.
    private final class Bucket: StoreDecorator {
        private let store: FaultyStore

        init(_ store: FaultyStore) { self.store = store }

        func base(_ key: String) -> any ObjectStore { store }
        func changes(prefix: String) -> AsyncStream<Void>? { nil }
    }

    private let faulty = FaultyStore(MemoryStore())
    private let time = TestTime()

    private func device(_ name: String) async throws -> TestDevice {
        try await TestDevice.start(on: Bucket(faulty), name: name, time: time)
    }

    private func hints(_ device: TestDevice) -> CommitHints { device.fileSystem.syncEngine.hints }

    /// Lets a device be heard by another one, as long as the test runs.
    private func connect(_ from: TestDevice, to: TestDevice) -> Task<Void, Never> {
        Task(executorPreference: VirtualTimeExecutor.current) {
            while !Task.isCancelled {
                let count = hints(from).landedCount
                hints(to).received(hints(from).announcement(), from: "192.0.2.1")
                await hints(from).waitForCommit(since: count)
            }
        }
    }

    /// How often the log is read in an hour in which nothing happens.
    private func polls() async throws -> Int {
        try await pass(.seconds(600))
        let before = faulty.callCount(.get, prefix: "log/")
        try await pass(.seconds(3600))
        return faulty.callCount(.get, prefix: "log/") - before
    }

    /// Whether a device has applied what another one has, without using its mount: a use makes it look.
    private func has(_ device: TestDevice, allOf other: TestDevice) -> Bool {
        device.fileSystem.replica.applied == other.fileSystem.replica.applied
    }

    @Test func `a device that is told of a commit has it at once, an idle one without hints only at its next poll`()
        async throws
    {
        let (a, b) = (try await device("A"), try await device("B"))
        try await converge(a, b)
        try await pass(.seconds(600))
        try await a.write("one", to: "silent")
        try await a.control.sync.sync(wait: true)
        #expect(try await !holds(within: .milliseconds(100)) { has(b, allOf: a) })
        #expect(try await holds(within: .seconds(16)) { has(b, allOf: a) })
        let connection = connect(a, to: b)
        defer { connection.cancel() }
        try await pass(.seconds(600))
        for number in 1...20 {
            try await a.write("text", to: "file \(number)")
            try await a.control.sync.sync(wait: true)
            #expect(try await holds(within: .milliseconds(20)) { has(b, allOf: a) })
        }
        try await a.close()
        try await b.close()
    }

    @Test func `while all devices that commit are heard, the store is asked once a minute, else four times`()
        async throws
    {
        let (a, b, c) = (try await device("A"), try await device("B"), try await device("C"))
        try await a.write("a", to: "a")
        try await converge(a, b, c)
        await a.stop()
        await c.stop()
        #expect(try await [polls()] == [240])
        let connection = connect(a, to: b)
        defer { connection.cancel() }
        #expect(try await [polls()] == [60])
        // C is in another network.
        let other = try await device("D")
        try await other.write("d", to: "d")
        try await other.control.sync.sync(wait: true)
        await other.stop()
        #expect(try await [polls()] == [240])
        #expect(has(b, allOf: other))
        time.jump(by: .seconds(86_400))
        #expect(try await [polls()] == [60])
        // A goes away without a word.
        connection.cancel()
        #expect(try await [polls()] == [240])
        #expect(hints(b).peers == [])
        try await b.close()
    }

    @Test func `a store that calls about each commit is asked once a minute, until a commit comes without a call`()
        async throws
    {
        let (a, b) = (try await device("A"), try await device("B"))
        try await a.write("a", to: "a")
        try await converge(a, b)
        try await pass(.seconds(600))
        try await a.write("b", to: "b")
        try await a.control.sync.sync(wait: true)
        let number = a.fileSystem.replica.applied
        await a.stop()
        hints(b).notified(of: number)
        #expect(try await holds(within: .milliseconds(20)) { has(b, allOf: a) })
        #expect(try await [polls()] == [60])
        // Who makes up calls wins nothing by it.
        hints(b).notified(of: number + 1)
        hints(b).notified(of: Commit.highestNumber)
        let again = try await device("C")
        try await again.write("c", to: "c")
        try await again.control.sync.sync(wait: true)
        try await again.write("d", to: "d")
        try await again.control.sync.sync(wait: true)
        await again.stop()
        #expect(try await holds(within: .seconds(61)) { has(b, allOf: again) })
        #expect(try await [polls()] == [240])
        try await b.close()
    }

    @Test func `a flood of hints about commits that are not there costs a request a second`() async throws {
        let b = try await device("B")
        try await b.write("b", to: "b")
        try await b.control.sync.sync(wait: true)
        try await pass(.seconds(600))
        let liar = DeviceID(uuid: UUID())
        let before = faulty.callCount(.get)
        for count in 0..<10_000 {
            let now = time.environment.now()
            hints(b).received(
                CommitHint(
                    device: liar, number: Commit.highestNumber, time: now.later(by: .nanoseconds(count))), from: "")
            hints(b).notified(of: count.isMultiple(of: 2) ? nil : .max)
            try await pass(.milliseconds(2))
        }
        #expect(faulty.callCount(.get) - before < 60)
        #expect(try await b.read("b") == "b")
        #expect(b.fileSystem.syncEngine.follower.problem == nil)
        // It is named, since a store may keep back what another device has seen.
        try await pass(.seconds(70))
        hints(b).received(
            CommitHint(device: liar, number: Commit.highestNumber, time: time.environment.now()), from: "192.0.2.9")
        let peer = try #require(hints(b).peers.first)
        #expect(peer.isMissingHere && peer.address == "192.0.2.9" && peer.device == liar)
        try await b.close()
    }

    @Test func `hints that are repeated, old, from a wrong clock or from this device itself change nothing`()
        async throws
    {
        let b = try await device("B")
        try await b.write("b", to: "b")
        try await b.control.sync.sync(wait: true)
        let (device, now) = (DeviceID(uuid: UUID()), time.environment.now())
        let hint = CommitHint(device: device, number: 0, time: now)
        #expect(hints(b).received(hint, from: ""))
        #expect(!hints(b).received(hint, from: "192.0.2.66"))
        #expect(!hints(b).received(CommitHint(device: device, number: 9, time: now.earlier(by: .seconds(1))), from: ""))
        #expect(hints(b).peers.map(\.address) == [""])
        #expect(!hints(b).received(hints(b).announcement(), from: ""))
        for time in [
            now.later(by: .seconds(700)), now.earlier(by: .seconds(700)), Timestamp(rawValue: .min),
            Timestamp(rawValue: .max),
        ] {
            hints(b).received(CommitHint(device: DeviceID(uuid: UUID()), number: 0, time: time), from: "")
        }
        #expect(hints(b).peers.count == 1)
        for _ in 0..<200 {
            hints(b).received(CommitHint(device: DeviceID(uuid: UUID()), number: 0, time: now), from: "")
        }
        #expect(hints(b).peers.count == HintPeers.limit)
        try await b.close()
    }

    @Test func `a device whose clock is set back goes on being heard by what it tells`() async throws {
        let a = try await device("A")
        let first = hints(a).announcement()
        time.jumpWall(by: .seconds(-300))
        let second = hints(a).announcement()
        #expect(second.time > first.time)
        try await a.close()
    }
}
