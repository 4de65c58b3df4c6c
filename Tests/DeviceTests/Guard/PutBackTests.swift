import Control
import FileSystem
import Foundation
import Glibc
import Model
import Remote
import Replica
import Sync
import TestStores
import Testing

/// A state that was put back to an earlier moment, as by a disk snapshot.
@Suite(.virtualTime, .timeLimit(.minutes(5))) struct PutBackTests {
    private static let message = """
        the state of this device is older than a commit of its own: it was put back, as from a disk snapshot or a \
        backup or by a power failure, or another machine uses a copy of it; changes that wait here are merged like those \
        of another device
        """

    /// What a snapshot of the disk has: the files of a state, as they are after the device was closed.
    private struct DiskSnapshot {
        let state: String
        var files: [String: (bytes: Data, times: [timespec])] = [:]

        init(_ state: String) throws {
            self.state = state
            let enumerator = FileManager.default.enumerator(atPath: state)
            while let name = enumerator?.nextObject() as? String {
                var status = stat()
                guard lstat("\(state)/\(name)", &status) == 0, status.st_mode & S_IFMT == S_IFREG else { continue }
                files[name] = (
                    try Data(contentsOf: URL(filePath: "\(state)/\(name)")), [status.st_atim, status.st_mtim]
                )
            }
        }

        /// Writes the bytes into the same files, so that they keep their inode numbers.
        func putBack() throws {
            for name in try DiskSnapshot(state).files.keys where files[name] == nil { unlink("\(state)/\(name)") }
            for (name, file) in files {
                let descriptor = open("\(state)/\(name)", O_WRONLY | O_TRUNC | O_CREAT, 0o600)
                #expect(descriptor >= 0)
                _ = file.bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
                futimens(descriptor, file.times)
                Glibc.close(descriptor)
            }
        }
    }

    private func restart(
        _ device: TestDevice, on store: any ObjectStore, logger: TestLog? = nil
    ) async throws -> TestDevice {
        try await TestDevice.start(on: store, name: "A", state: device.state, logger: logger?.logger)
    }

    @Test func `an edit that waited when the disk was copied does not replace a newer one`() async throws {
        let store = MemoryStore()
        var a = try await TestDevice.start(on: store, name: "A")
        let b = try await TestDevice.start(on: store, name: "B")
        try await a.write("first", to: "f")
        try await a.write("first", to: "g")
        try await converge(a, b)
        await a.stop()
        try await a.write("waits in the snapshot", to: "f")
        try a.rename("g", to: "h")
        try a.fileSystem.shutDown()
        let snapshot = try DiskSnapshot(a.state)

        a = try await restart(a, on: store)
        await a.stop()
        // The times of files are those of the machine, which come in ticks.
        usleep(20_000)
        try await a.write("newer than that", to: "f")
        a = try await reopened(a, on: store)
        try await a.write("newer too", to: "h")
        try await converge(a, b)
        try await a.close()

        try snapshot.putBack()
        let log = TestLog()
        a = try await restart(a, on: store, logger: log)
        try await converge(a, b)
        #expect(log.count(Self.message) == 1)
        #expect(try a.containerStatus().putBack != nil)
        for device in [a, b] {
            #expect(try await device.tree() == ["f": "newer than that", "h": "newer too"])
            #expect(try device.control.states.itemStatus("f").conflictCount == 1)
            #expect(try device.control.states.itemStatus("h").conflictCount == 0)
        }
        let version = try #require(
            try b.fileSystem.replica.read { try $0.existingEntry(ItemName("f"), in: .root).conflicts.first })
        #expect(version.size == Int64("waits in the snapshot".utf8.count))
        #expect(try await a.fileSystem.syncEngine.check() == [])
        try await a.close()
        try await b.close()
    }

    private func reopened(_ device: TestDevice, on store: any ObjectStore) async throws -> TestDevice {
        try device.fileSystem.shutDown()
        return try await restart(device, on: store)
    }

    @Test func `a deletion that waited when the disk was copied does not delete a newer edit`() async throws {
        let store = MemoryStore()
        var a = try await TestDevice.start(on: store, name: "A")
        let b = try await TestDevice.start(on: store, name: "B")
        try await a.write("first", to: "f")
        try await a.write("first", to: "g")
        try await converge(a, b)
        await a.stop()
        try a.remove("f")
        try a.remove("g")
        try a.fileSystem.shutDown()
        let snapshot = try DiskSnapshot(a.state)
        // The deletions were discarded, and one of the files was edited.
        a = try await restart(a, on: store)
        await a.stop()
        _ = try a.fileSystem.replica.change { try $0.restoreDeletions(limit: 10) }
        try a.fileSystem.shutDown()
        a = try await restart(a, on: store)
        try await a.setAttribute("download", "wait", of: "f")
        try await a.write("edited", to: "f")
        try await converge(a, b)
        try await a.close()

        try snapshot.putBack()
        a = try await restart(a, on: store)
        try await converge(a, b)
        for device in [a, b] { #expect(try await device.tree() == ["f": "edited"]) }
        try await a.close()
        try await b.close()
    }

    @Test func `a commit whose response was lost is remembered`() async throws {
        let store = FaultyStore(MemoryStore())
        let log = TestLog()
        let a = try await TestDevice.start(on: store, name: "A", logger: log.logger)
        store.plan(.failAfter(.unavailable), on: .create, prefix: "log/")
        try await a.write("text", to: "f")
        try await converge(a)
        let a2 = try await TestDevice.start(on: store, name: "A2")
        try await converge(a, a2)
        #expect(log.count(Self.message) == 0)
        #expect(try a.containerStatus().putBack == nil)
        try await a.close()
        try await a2.close()
    }
}
