import Control
import FileSystem
import Foundation
import Glibc
import Model
import Remote
import Sync
import TestStores
import Testing

/// A device whose disk lost changes that the device had already uploaded.
@Suite(.virtualTime) struct LostPowerTests {
    /// Lets a device upload a change, and then restores its old index and whatever `lose` restores.
    private func fallBack(
        _ store: any ObjectStore, _ state: String, send: (TestDevice) async throws -> Void, lose: () throws -> Void
    ) async throws -> TestDevice {
        let index = "\(state)/index.sqlite"
        let oldIndex = try Data(contentsOf: URL(fileURLWithPath: index))
        let device = try await TestDevice.start(on: store, name: "A", state: state)
        try await send(device)
        try await device.control.sync.sync(wait: true)
        try await device.close()
        try lose()
        for name in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: index + name) }
        try oldIndex.write(to: URL(fileURLWithPath: index))
        try "another-boot 1\n".write(toFile: "\(state)/running", atomically: false, encoding: .utf8)
        return try await TestDevice.start(on: store, name: "A", state: state)
    }

    /// Writes in place, so that the file keeps its inode.
    private func overwrite(_ file: String, _ text: String, times: [timespec]) throws {
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: file))
        try handle.write(contentsOf: Data(text.utf8))
        try handle.close()
        try #require(utimensat(AT_FDCWD, file, times, 0) == 0)
    }

    private func begin(_ store: any ObjectStore) async throws -> String {
        let device = try await TestDevice.start(on: store, name: "A")
        try await device.write("one", to: "f")
        try await device.control.sync.sync(wait: true)
        try await device.close()
        return device.state
    }

    @Test func `an uploaded change that the disk lost is restored from the container`() async throws {
        let store = MemoryStore()
        let state = try await begin(store)
        let file = "\(state)/files/f"
        var before = stat()
        try #require(stat(file, &before) == 0)
        let a = try await fallBack(store, state) { device in
            try await device.overwrite("f", "two")
        } lose: {
            try overwrite(file, "one", times: [before.st_atim, before.st_mtim])
        }
        let b = try await TestDevice.start(on: store, name: "B")
        for device in [a, b] { try await device.control.sync.sync(wait: true) }
        for device in [a, b] { #expect(try await device.tree() == ["f": "two"]) }
        #expect(try await a.fileSystem.syncEngine.check() == [])
        for device in [a, b] { try await device.close() }
    }

    @Test func `an uploaded change becomes a conflict version if the disk fell back to an older change`()
        async throws
    {
        let network = Network()
        let store = network.store()
        let state = try await begin(store)
        let file = "\(state)/files/f"
        network.goAway()
        let offline = try TestDevice.startKnown(on: store, name: "A", state: state)
        try await offline.overwrite("f", "mid")
        try await offline.close()
        network.comeBack()
        var before = stat()
        try #require(stat(file, &before) == 0)
        let a = try await fallBack(store, state) { device in
            try await device.overwrite("f", "two")
        } lose: {
            try overwrite(file, "mid", times: [before.st_atim, before.st_mtim])
        }
        let b = try await TestDevice.start(on: store, name: "B")
        for _ in 0..<2 { for device in [a, b] { try await device.control.sync.sync(wait: true) } }
        for device in [a, b] {
            #expect(try await device.tree() == ["f": "mid"])
            let conflicts = try device.control.versions.versions("f").filter { $0.kind == .conflict }
            #expect(conflicts.map(\.size) == [3])
        }
        #expect(try await a.fileSystem.syncEngine.check() == [])
        for device in [a, b] { try await device.close() }
    }

    @Test func `an uploaded rename that the disk lost is applied again`() async throws {
        let store = MemoryStore()
        let state = try await begin(store)
        let a = try await fallBack(store, state) { device in
            try device.rename("f", to: "g")
        } lose: {
            try FileManager.default.moveItem(atPath: "\(state)/files/g", toPath: "\(state)/files/f")
        }
        try await a.control.sync.sync(wait: true)
        #expect(try await a.tree() == ["g": "one"])
        #expect(try await a.fileSystem.syncEngine.check() == [])
        try await a.close()
    }

    @Test func `an uploaded removal that the disk lost is applied again`() async throws {
        let store = MemoryStore()
        let state = try await begin(store)
        let saved = "\(state)/saved"
        try FileManager.default.linkItem(atPath: "\(state)/files/f", toPath: saved)
        let a = try await fallBack(store, state) { device in
            try device.remove("f")
        } lose: {
            try FileManager.default.moveItem(atPath: saved, toPath: "\(state)/files/f")
        }
        try await a.control.sync.sync(wait: true)
        #expect(try await a.tree() == [:])
        #expect(try await a.fileSystem.syncEngine.check() == [])
        try await a.close()
    }
}

extension TestDevice {
    /// Writes in place.
    fileprivate func overwrite(_ path: String, _ text: String) async throws {
        let handle = try await open(path, O_RDWR)
        try await write(text, to: handle, at: 0)
        try await close(handle)
    }
}
