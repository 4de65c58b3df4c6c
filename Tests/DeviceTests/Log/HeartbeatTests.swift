import Control
import Foundation
import Model
import Remote
import Replica
import TestStores
import Testing

@testable import FileSystem
@testable import Sync

/// A device that promises to commit is missed when nothing of it arrives: it is off, or the store withholds its commits.
@Suite(.virtualTime, .timeLimit(.minutes(5))) struct HeartbeatTests {
    private let store = FaultyStore(MemoryStore())
    private let time = TestTime()
    private var log: ChangeLog { ChangeLog(store: store) }

    /// The time of day goes on with the test's.
    private var environment: EngineEnvironment {
        var environment = time.environment
        let uptime = environment.uptime
        environment.now = { Timestamp(rawValue: 1_800_000_000_000_000_000 + Int64(uptime() / .nanoseconds(1))) }
        return environment
    }

    private func device(
        _ name: String, heartbeat: Duration? = nil, state: String? = nil
    ) async throws -> TestDevice {
        var options = FileSystemOptions()
        options.heartbeat = heartbeat
        return try await TestDevice.start(
            on: store, name: name, state: state, options: options, environment: environment)
    }

    private func commits(of device: TestDevice) async throws -> [Commit] {
        var commits: [Commit] = []
        var number: CommitNumber = 1
        while let read = try await log.read(number) {
            if read.commit.device == device.fileSystem.replica.device { commits.append(read.commit) }
            number += 1
        }
        return commits
    }

    /// A commit of a device that is not here, on top of the newest one.
    private func append(_ device: DeviceID, at written: Timestamp, heartbeat: Int?) async throws {
        var (number, previous): (CommitNumber, UUID?) = (1, nil)
        while let read = try await log.read(number) { (number, previous) = (number + 1, read.commit.nonce) }
        let commit = Commit(
            sequence: number, device: device, deviceName: "laptop", time: written, nonce: UUID(), previous: previous,
            heartbeat: heartbeat, records: [], tombstones: [])
        #expect(try await log.append(commit) == .landed)
    }

    @Test func `a device commits something within each time that it promised, and every commit says so`() async throws {
        let a = try await device("A", heartbeat: .seconds(600))
        try await a.write("hello", to: "file")
        try await a.control.sync.sync(wait: true)
        let before = try await commits(of: a).count
        try await pass(.seconds(3600))
        let all = try await commits(of: a)
        #expect((5...7).contains(all.count - before), "\(all.count - before) in an hour")
        #expect(all.allSatisfy { $0.heartbeat == 600 })
        #expect(all.suffix(3).allSatisfy { $0.records.isEmpty && $0.tombstones.isEmpty })
        for (earlier, later) in zip(all, all.dropFirst()) {
            #expect(later.time.rawValue - earlier.time.rawValue <= 660_000_000_000)
        }
        #expect(try await a.fileSystem.syncEngine.check() == [])
        try await a.close()
    }

    @Test func `a device without the option commits nothing of its own accord`() async throws {
        let a = try await device("A")
        try await a.write("hello", to: "file")
        try await a.control.sync.sync(wait: true)
        let before = try await commits(of: a)
        try await pass(.seconds(7200))
        let after = try await commits(of: a)
        #expect(after == before)
        #expect(after.allSatisfy { $0.heartbeat == nil })
        try await a.close()
    }

    @Test func `a device whose newest commits are withheld is reported, and no longer when they arrive`() async throws {
        let b = try await device("B")
        let a = try await device("A", heartbeat: .seconds(600))
        try await a.write("hello", to: "file")
        try await a.control.sync.sync(wait: true)
        try await b.control.sync.sync(wait: true)
        try await pass(.seconds(1500))
        #expect(try b.containerStatus().overdue == [], "it keeps its promise")
        let state = a.state
        try await a.close()
        try await pass(.seconds(1500))
        let overdue = try #require(try b.containerStatus().overdue)
        #expect(overdue.map(\.name) == ["A"])
        #expect(overdue.map(\.seconds) == [600])
        #expect(overdue.first?.last == (try await commits(of: a).last?.time.rfc3339))
        let newer = try await device("A", heartbeat: .seconds(600), state: state)
        #expect(try await holds { try b.containerStatus().overdue == [] })
        try await newer.close()
        try await b.close()
    }

    @Test func `a promise that is taken back is not missed`() async throws {
        let laptop = DeviceID(uuid: UUID())
        let b = try await device("B")
        try await append(laptop, at: environment.now(), heartbeat: 600)
        try await append(laptop, at: environment.now(), heartbeat: nil)
        try await b.control.sync.sync(wait: true)
        try await pass(.seconds(7200))
        #expect(try b.containerStatus().overdue == [])
        try await b.close()
    }

    @Test func `a device that has been away for a month counts as gone`() async throws {
        let laptop = DeviceID(uuid: UUID())
        let b = try await device("B")
        try await append(laptop, at: environment.now(), heartbeat: 86_400)
        try await b.control.sync.sync(wait: true)
        time.jump(by: .seconds(3 * 86_400))
        #expect(try await holds { try b.containerStatus().overdue?.map(\.name) == ["laptop"] })
        time.jump(by: .seconds(28 * 86_400))
        #expect(try await holds { try b.containerStatus().overdue == [] })
        try await b.close()
    }

    /// The clock of the device that promised may be wrong by any amount.
    @Test(arguments: [Int64.min, -1, 0, Int64.max])
    func `the time of a promise may be any number`(_ written: Int64) async throws {
        let laptop = DeviceID(uuid: UUID())
        let b = try await device("B")
        try await append(laptop, at: Timestamp(rawValue: written), heartbeat: 600)
        try await b.control.sync.sync(wait: true)
        #expect(try b.containerStatus().problem == nil)
        #expect(try b.containerStatus().overdue == [], "one from 1970 is of a device that is gone")
        try await pass(.seconds(1500))
        #expect(try b.containerStatus().overdue?.map(\.name) == (written == .max ? ["laptop"] : []))
        try await b.close()
    }

    @Test func `a device that is offline reports nobody until it has read the log to its end`() async throws {
        let network = Network()
        let a = try await TestDevice.start(on: network.store(), name: "A", environment: environment)
        try await a.control.sync.sync(wait: true)
        network.goAway()
        try await pass(.seconds(7200))
        #expect(try a.containerStatus().overdue == [])
        try await a.close()
    }

    @Test func `the sentence says who, how long, and what it may mean`() {
        let device = ContainerStatus.OverdueDevice(
            device: DeviceID(uuid: UUID()), name: "laptop", last: "2026-11-28T12:00:00Z", seconds: 21_600)
        #expect(
            device.sentence
                == "laptop promised to commit every 6 h, and nothing of it has come since 2026-11-28T12:00:00Z: "
                + "it is off or offline, or the store withholds its commits")
    }
}
