import Control
import FileSystem
import Foundation
import Model
import Remote
import Sealing
import TestStores
import Testing

@testable import Sync

/// Sync of an encrypted container stops also when its `container.json` is not as it was, although what a device reads of
/// it is sealed, and elsewhere: nobody else would find the container any more.
@Suite(.virtualTime, .timeLimit(.minutes(5))) struct EncryptedGuardTests {
    private let base = FaultyStore(MemoryStore())
    private let time = TestTime()

    private struct Sealed {
        let device: TestDevice
        let stub: String
    }

    private struct Forgetful: KeyringNotebook {
        func remember(_ memory: KeyringMemory) {}
        func hasChanged() -> Bool { false }
        func forget() {}
    }

    /// - Parameter follows: Whether the device looks for newer keyrings, every five seconds.
    private func start(follows: Bool = true) async throws -> Sealed {
        let memory = try await SealedContainer.create(
            in: base, identity: TestDevice.identity, passphrase: try Passphrase("correct horse"),
            recovery: RecoveryCode(), deviceName: "A", time: 0)
        let keyring = try OpenKeyring(memory, store: base, notebook: Forgetful())
        let store = SealedStore(base, keys: follows ? keyring : keyring.keys, history: SealedHistory(keyring))
        let device = try TestDevice.startKnown(on: store, name: "A", time: time)
        try await device.write("one", to: "one")
        try await device.control.sync.sync(wait: true)
        return Sealed(device: device, stub: #"{"format":2,"uuid":"\#(memory.container.uuidString)"}"#)
    }

    private func put(_ text: String) async throws { try await base.put("container.json", .bytes(Array(text.utf8))) }

    /// Expects the device to report what is wrong, to upload and lose nothing, and to continue when the stub is back.
    private func expectStop(_ sentence: String, _ sealed: Sealed) async throws {
        let device = sealed.device
        let keys = try await base.keys()
        time.jump(by: .seconds(301))
        try await device.write("two", to: "two")
        let stop = try await #require(throws: FileError.self) { try await device.control.sync.sync(wait: true) }
        #expect(stop.code == .inputOutput && stop.detail == sentence)
        #expect(try device.containerStatus().problem == sentence)
        #expect(try await base.keys() == keys)
        #expect(try device.names() == ["one", "two"])
        try await put(sealed.stub)
        #expect(try await holds { try device.containerStatus().pendingUploadCount == 0 })
        #expect(try device.containerStatus().problem == nil)
        try await device.close()
    }

    @Test(arguments: [
        ("missing", "it is missing"), ("", "not JSON, or not a value of its type"),
        (#"{"format":2,"uuid":"zzz"}"#, "uuid is missing, or is none"),
        (
            #"{"format":2,"uuid":"14D23375-BB46-4541-8700-9315F5C6521F"}"#,
            "it is that of another encrypted container, 14d23375-bb46-4541-8700-9315f5c6521f"
        ),
        ("plain", "it is that of a plain container, iCloud.test"),
    ])
    func `a container.json that is missing or another's stops sync`(text: String, fault: String) async throws {
        let sealed = try await start()
        let plain = try JSONEncoder().encode(TestDevice.identity)
        switch text {
        case "missing": try await base.delete("container.json")
        case "plain": try await put(String(decoding: plain, as: UTF8.self))
        default: try await put(text)
        }
        try await expectStop(
            "the store at memory lacks the container.json of this encrypted container: \(fault); put it back as "
                + "\(sealed.stub); nothing is deleted or uploaded until then", sealed)
    }

    @Test func `an emptied store is said to hold no container`() async throws {
        let sealed = try await start()
        let putBack = try await base.takeAway()
        time.jump(by: .seconds(301))
        try await sealed.device.write("two", to: "two")
        let stop = try await #require(throws: FileError.self) {
            try await sealed.device.control.sync.sync(wait: true)
        }
        #expect(stop.code == .inputOutput && stop.detail.contains("no longer holds a container"))
        try await putBack()
        #expect(try await holds { try sealed.device.containerStatus().pendingUploadCount == 0 })
        try await sealed.device.close()
    }

    @Test func `the checks of both objects take few requests`() async throws {
        let sealed = try await start(follows: false)
        func counts() -> [Int] {
            ["container.json", "keyring/"].map { base.callCount(.get, prefix: $0) }
        }
        let before = counts()
        for index in 0..<20 {
            try await sealed.device.write("\(index)", to: "\(index)")
            try await sealed.device.control.sync.sync(wait: true)
        }
        #expect(counts() == before)
        try await sealed.device.close()
    }

    @Test func `a check names what no new device could open the container without`() async throws {
        let sealed = try await start()
        let engine = sealed.device.fileSystem.syncEngine
        #expect(try await engine.check() == [])
        let keyring = try #require(try await base.keys("keyring/").first { $0.hasSuffix("/000001") })
        let description = keyring.replacing("000001", with: "container")
        let missing =
            "\(keyring): it is missing or damaged, so that no new device can open the container; restore it as it was"
        let putBack = try await base.takeAway(keyring)
        #expect(try await engine.check() == [missing])
        try await base.put(keyring, .bytes([1]))
        #expect(try await engine.check() == [missing])
        try await base.delete(keyring)
        try await putBack()
        try await base.put(keyring.replacing("000001", with: "000002"), .bytes([1]))
        let next = try await engine.check()
        #expect(next.count == 1 && next[0].hasSuffix("; if no device of yours has made it, remove it"), "\(next)")
        try await base.delete(keyring.replacing("000001", with: "000002"))
        let descriptionBack = try await base.takeAway(description)
        #expect(try await engine.check() == ["\(description): it is missing"])
        try await descriptionBack()
        try await base.delete("container.json")
        #expect(try await engine.check() == ["container.json: it is missing; put it back as \(sealed.stub)"])
        try await put(sealed.stub)
        #expect(try await engine.check() == [])
        try await sealed.device.close()
    }

    @Test func `when the device is revoked that made the newest snapshot, another one is due with the next commit`()
        async throws
    {
        let memory = try await SealedContainer.create(
            in: base, identity: TestDevice.identity, passphrase: try Passphrase("correct horse"),
            recovery: RecoveryCode(), deviceName: "A", time: 0)
        let container = try #require(try await SealedContainer.find(in: base))
        let a = try TestDevice.startKnown(on: try await container.open(memory).store, name: "A", time: time)
        try await a.write("one", to: "one")
        try await a.control.sync.sync(wait: true)
        #expect(try await a.fileSystem.syncEngine.snapshots.make() == 1)
        try await a.close()
        var person = try await container.unlock(.passphrase(try Passphrase("correct horse")))
        let other = try await person.enrol(deviceName: "B", time: 1)
        let b = try TestDevice.startKnown(on: try await container.open(other).store, name: "B", time: time)
        try await b.control.sync.sync(wait: true)
        #expect(try await !b.fileSystem.syncEngine.snapshots.isDue())
        try await b.write("two", to: "two")
        try await b.control.sync.sync(wait: true)
        #expect(try await !b.fileSystem.syncEngine.snapshots.isDue())
        try await b.close()
        let revoked = try #require(memory.device)
        try await person.change(time: 2) { change throws(KeyringError) in try change.revoke(revoked) }
        let b2 = try TestDevice.startKnown(
            on: try await container.open(other).store, name: "B", state: b.state, time: time)
        try await b2.control.sync.sync(wait: true)
        #expect(try await b2.fileSystem.syncEngine.snapshots.isDue())
        // The name of one to come prevents it not.
        let junk = SnapshotStore.key(1_000_000)
        try await base.put(junk, .bytes([1]))
        #expect(try await b2.fileSystem.syncEngine.snapshots.isDue())
        // A new device takes the former one, until a commit tells that it may be made up; then it waits for another.
        func joined(_ name: String) async throws -> TestDevice {
            let memory = try await person.enrol(deviceName: name, time: 3)
            return try TestDevice.startKnown(on: try await container.open(memory).store, name: name, time: time)
        }
        try await ChangeLog(store: person.store).trim(1)
        let c = try await joined("C")
        try await c.control.sync.sync(wait: true)
        #expect(try c.names() == ["one", "two"])
        #expect(try await !c.fileSystem.syncEngine.snapshots.isDue(), "it may be made up")
        try await b2.write("three", to: "three")
        try await b2.control.sync.sync(wait: true)
        let d = try await joined("D")
        // It makes one by itself.
        time.jump(by: Snapshots.checkPause)
        for device in [c, d] {
            #expect(try await holds { try device.names() == ["one", "three", "two"] })
        }
        for device in [c, d] {
            try await device.write("of it", to: "own")
            try await device.control.sync.sync(wait: true)
            try await device.close()
        }
        #expect(try await b2.fileSystem.syncEngine.snapshots.isDue() == false)
        #expect(try await base.keys("snapshot/").count { $0 != junk } == 2)
        try await b2.close()
    }
}
