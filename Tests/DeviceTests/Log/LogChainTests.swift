import Control
import Foundation
import Model
import Remote
import Replica
import TestStores
import Testing

@testable import FileSystem
@testable import Sync
@testable import Transfer

/// A log with a gap or with a commit not based on the previous one is never mistaken for a shorter one or appended to.
@Suite(.virtualTime, .timeLimit(.minutes(5))) struct LogChainTests {
    private let store = FaultyStore(MemoryStore())
    private let time = TestTime()
    private var log: ChangeLog { ChangeLog(store: store) }

    private func device(_ name: String = "A", commits: [String] = ["one", "two", "three"]) async throws -> TestDevice {
        let device = try await TestDevice.start(on: store, name: name, time: time)
        for name in commits {
            try await device.write(name, to: name)
            try await device.control.sync.sync(wait: true)
        }
        return device
    }

    /// Appends an empty commit of an unknown device and returns its nonce.
    private func strange(_ number: CommitNumber, on previous: UUID?) async throws -> UUID {
        let nonce = UUID()
        let commit = Commit(
            sequence: number, device: DeviceID(uuid: UUID()), deviceName: "strange", time: Timestamp(rawValue: 1),
            nonce: nonce, previous: previous, records: [], tombstones: [])
        #expect(try await log.append(commit) == .landed)
        return nonce
    }

    private func nonce(_ number: CommitNumber) async throws -> UUID {
        try #require(try await log.read(number)).commit.nonce
    }

    /// Expects the device to stop with `sentence`, or with another one until it has looked again, and to upload none of
    /// its changes.
    private func expectStop(
        _ sentence: String, orAtFirst first: String? = nil, _ device: TestDevice
    ) async throws {
        let keys = try await store.keys("log/")
        try await device.write("mine", to: "mine")
        let stop = try await #require(throws: FileError.self) { try await device.control.sync.sync(wait: true) }
        #expect(stop.code == .inputOutput, "\(stop)")
        #expect([sentence, first ?? sentence].contains { stop.detail.contains($0) }, "\(stop)")
        #expect(try await holds { try device.containerStatus().problem?.contains(sentence) == true })
        try await pass(.seconds(60))
        #expect(try await store.keys("log/") == keys)
        #expect(try await device.read("mine") == "mine")
    }

    @Test func `each commit names the previous one`() async throws {
        let a = try await device()
        let b = try await device("B", commits: ["four"])
        #expect(try await log.read(1)?.commit.previous == nil)
        for number: CommitNumber in 2...4 {
            let expected = try await nonce(number - 1)
            #expect(try await log.read(number)?.commit.previous == expected)
        }
        #expect(try await a.fileSystem.syncEngine.check() == [])
        try await a.close()
        try await b.close()
    }

    @Test func `a new device does not mistake a missing commit for the end of the log`() async throws {
        let a = try await device()
        try await a.close()
        let putBack = try await store.takeAway(ChangeLog.key(2))
        let b = try await TestDevice.start(on: store, name: "B", time: time)
        try await expectStop("commit 2 is missing from the log", b)
        #expect(try await b.fileSystem.syncEngine.check() == ["log: commit 2 is missing, although commit 3 exists"])
        try await putBack()
        try await b.control.sync.sync(wait: true)
        #expect(try b.names() == ["mine", "one", "three", "two"])
        #expect(try b.containerStatus().problem == nil)
        try await b.close()
    }

    @Test func `a running device does not append a commit into a gap after its last applied one`() async throws {
        let a = try await device()
        _ = try await strange(5, on: UUID())
        time.jump(by: .seconds(61))
        try await expectStop("commit 4 is missing from the log", a)
        try await a.close()
    }

    @Test func `a gap filled with another commit stops new devices`() async throws {
        let a = try await device()
        try await a.close()
        _ = try await store.takeAway(ChangeLog.key(2))
        _ = try await strange(2, on: try await nonce(1))
        let b = try await TestDevice.start(on: store, name: "B", time: time)
        try await expectStop("commit 3 of the log is not based on the commit 2", b)
        #expect(
            try await b.fileSystem.syncEngine.check() == [
                "log: commit 3 is not based on the commit 2 that is in the log"
            ])
        try await b.close()
    }

    @Test func `a running device does not append to a store that was rolled back`() async throws {
        let a = try await device()
        _ = try await store.takeAway(ChangeLog.key(3))
        // Before the next check of the store is due.
        time.jump(by: .seconds(11))
        try await expectStop("has lost its log: commit 3", a)
        #expect(
            try await a.fileSystem.syncEngine.check() == [
                "log: it ends at commit 2, although commit 3 is applied here"
            ])
        try await a.close()
    }

    @Test func `a running device does not apply commits appended to a store after a rollback`() async throws {
        let a = try await device()
        _ = try await store.takeAway(ChangeLog.key(3))
        let other = try await strange(3, on: try await nonce(2))
        _ = try await strange(4, on: other)
        // The follower may look at the new commits before the sync, and at the old one when it looks again.
        try await expectStop(
            "its commit 3 differs from the one applied here",
            orAtFirst: "commit 4 of the log is not based on the commit 3", a)
        #expect(
            try await a.fileSystem.syncEngine.check() == ["log: commit 3 differs from the one that is applied here"])
        try await a.close()
    }

    @Test func `commits of older versions that do not name the previous commit are applied`() async throws {
        let a = try await device()
        _ = try await strange(4, on: nil)
        let next = try await strange(5, on: nil)
        _ = try await strange(6, on: next)
        try await a.control.sync.sync(wait: true)
        #expect(a.fileSystem.replica.applied == 6)
        #expect(try await a.fileSystem.syncEngine.check() == [])
        try await a.close()
    }

    @Test(arguments: [false, true])
    func `the commit after a snapshot must be based on the commit of the snapshot`(_ isTrimmed: Bool) async throws {
        let a = try await device()
        #expect(try await a.fileSystem.syncEngine.snapshots.make() == 3)
        try await a.close()
        let last = try await nonce(3)
        if isTrimmed { for number: CommitNumber in 1...3 { try await log.trim(number) } }
        _ = try await strange(4, on: UUID())
        let b = try await TestDevice.start(on: store, name: "B", time: time)
        try await expectStop("commit 4 of the log is not based on the commit 3", b)
        try await store.delete(ChangeLog.key(4))
        _ = try await strange(4, on: last)
        try await b.control.sync.sync(wait: true)
        #expect(b.fileSystem.replica.applied > 4)
        try await b.close()
    }

    @Test func `a device that catches up from a snapshot knows the commit of that snapshot`() async throws {
        let a = try await device()
        let b = try await device("B", commits: [])
        try await b.control.sync.sync(wait: true)
        try await b.close()
        try await a.write("four", to: "four")
        try await a.control.sync.sync(wait: true)
        #expect(try await a.fileSystem.syncEngine.snapshots.make() == 4)
        let last = try await nonce(4)
        for number: CommitNumber in 1...4 { try await log.trim(number) }
        let b2 = try await TestDevice.start(on: store, name: "B", state: b.state, time: time)
        try await b2.control.sync.sync(wait: true)
        #expect(try b2.fileSystem.replica.read { try $0.appliedCommit() }?.nonce == last)
        try await a.close()
        try await b2.close()
    }
}
