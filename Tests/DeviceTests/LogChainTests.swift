import Foundation
import Model
import Remote
import Replica
import TestStores
import Testing

@testable import FileSystem
@testable import Sync
@testable import Transfer

/// A log with a gap, or whose commits do not stand on each other, is never taken for a shorter one and never added to.
@Suite(.timeLimit(.minutes(5))) struct LogChainTests {
    private let store = FaultyStore(MemoryStore())
    private let time = TestTime()
    private var log: ChangeLog { ChangeLog(store: store) }

    private func device(_ name: String = "A", commits: [String] = ["one", "two", "three"]) async throws -> TestDevice {
        let device = try await TestDevice.start(on: store, name: name, time: time)
        for name in commits {
            try await device.write(name, to: name)
            try await device.fileSystem.sync(wait: true)
        }
        return device
    }

    /// An empty commit of a device that is none of the test's.
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

    /// The device stops with `sentence`, and whatever it has to send stays here.
    private func expectStop(_ sentence: String, _ device: TestDevice) async throws {
        let keys = try await store.keys("log/")
        try await device.write("mine", to: "mine")
        let stop = try await #require(throws: FileError.self) { try await device.fileSystem.sync(wait: true) }
        #expect(stop.code == .inputOutput && stop.detail.contains(sentence), "\(stop)")
        #expect(try await holds { try device.fileSystem.containerStatus().problem?.contains(sentence) == true })
        try await Task.sleep(for: .milliseconds(500))
        #expect(try await store.keys("log/") == keys)
        #expect(try await device.read("mine") == "mine")
    }

    @Test func `each commit names the one before it`() async throws {
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

    @Test func `a new device does not take a missing commit for the end of the log`() async throws {
        let a = try await device()
        try await a.close()
        let putBack = try await store.takeAway(ChangeLog.key(2))
        let b = try await TestDevice.start(on: store, name: "B", time: time)
        try await expectStop("commit 2 is missing from the log", b)
        #expect(try await b.fileSystem.syncEngine.check() == ["log: commit 2 is missing, although commit 3 exists"])
        try await putBack()
        try await b.fileSystem.sync(wait: true)
        #expect(try b.names() == ["mine", "one", "three", "two"])
        #expect(try b.fileSystem.containerStatus().problem == nil)
        try await b.close()
    }

    @Test func `a gap that opens behind a device that has looked already gets no commit`() async throws {
        let a = try await device()
        _ = try await strange(5, on: UUID())
        time.jump(by: .seconds(61))
        try await expectStop("commit 4 is missing from the log", a)
        try await a.close()
    }

    @Test func `a gap that another commit was written into stops every new device`() async throws {
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

    @Test func `a store that is put back under a running device gets no commit from it`() async throws {
        let a = try await device()
        _ = try await store.takeAway(ChangeLog.key(3))
        // Sooner than the next look at the store is due.
        time.jump(by: .seconds(11))
        try await expectStop("has lost its log: commit 3", a)
        #expect(
            try await a.fileSystem.syncEngine.check() == [
                "log: it ends at commit 2, although commit 3 is applied here"
            ])
        try await a.close()
    }

    @Test func `what others add to a store that was put back under a running device is not applied`() async throws {
        let a = try await device()
        _ = try await store.takeAway(ChangeLog.key(3))
        let other = try await strange(3, on: try await nonce(2))
        _ = try await strange(4, on: other)
        try await expectStop("commit 4 of the log is not based on the commit 3", a)
        #expect(
            try await a.fileSystem.syncEngine.check() == ["log: commit 3 differs from the one that is applied here"])
        try await a.close()
    }

    @Test func `commits of older writers do not name the one before them, and are applied`() async throws {
        let a = try await device()
        _ = try await strange(4, on: nil)
        let next = try await strange(5, on: nil)
        _ = try await strange(6, on: next)
        try await a.fileSystem.sync(wait: true)
        #expect(a.fileSystem.replica.applied == 6)
        #expect(try await a.fileSystem.syncEngine.check() == [])
        try await a.close()
    }

    @Test(arguments: [false, true])
    func `what follows a snapshot must stand on the commit that it is of`(_ isTrimmed: Bool) async throws {
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
        try await b.fileSystem.sync(wait: true)
        #expect(b.fileSystem.replica.applied > 4)
        try await b.close()
    }

    @Test func `a device that was away and takes a snapshot knows which commit it stands at`() async throws {
        let a = try await device()
        let b = try await device("B", commits: [])
        try await b.fileSystem.sync(wait: true)
        try await b.close()
        try await a.write("four", to: "four")
        try await a.fileSystem.sync(wait: true)
        #expect(try await a.fileSystem.syncEngine.snapshots.make() == 4)
        let last = try await nonce(4)
        for number: CommitNumber in 1...4 { try await log.trim(number) }
        let b2 = try await TestDevice.start(on: store, name: "B", state: b.state, time: time)
        try await b2.fileSystem.sync(wait: true)
        #expect(try b2.fileSystem.replica.appliedCommit()?.nonce == last)
        try await a.close()
        try await b2.close()
    }
}
