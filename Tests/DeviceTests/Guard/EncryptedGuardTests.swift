import Control
import FileSystem
import Foundation
import Model
import Remote
import Sealing
import TestStores
import Testing

/// Sync of an encrypted container stops also when its `container.json` is not as it was, although what a device reads of
/// it is sealed, and elsewhere: nobody else would find the container any more.
@Suite(.virtualTime, .timeLimit(.minutes(5))) struct EncryptedGuardTests {
    private let base = FaultyStore(MemoryStore())
    private let time = TestTime()

    private struct Sealed {
        let device: TestDevice
        let stub: String
    }

    private func start() async throws -> Sealed {
        let memory = try await SealedContainer.create(
            in: base, identity: TestDevice.identity, passphrase: try Passphrase("correct horse"),
            recovery: RecoveryCode(), deviceName: "A", time: 0)
        let opened = try await #require(try await SealedContainer.find(in: base)).open(memory)
        let device = try TestDevice.startKnown(on: opened.store, name: "A", time: time)
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
        let sealed = try await start()
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
}
