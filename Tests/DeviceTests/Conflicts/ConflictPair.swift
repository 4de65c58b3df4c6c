import Control
import FileSystem
import Model
import Sync
import TestStores
import Testing

/// Two devices that have synced the same initial state.
struct ConflictPair {
    let store = MemoryStore()
    let a: TestDevice
    var b: TestDevice

    init(_ prepare: (TestDevice) async throws -> Void) async throws {
        a = try await TestDevice.start(on: store, name: "desk")
        b = try await TestDevice.start(on: store, name: "sofa")
        try await prepare(a)
        try await converge(a, b)
    }

    /// Applies `first` to `a` and syncs it, applies `second` to `b` offline, and then restarts and syncs `b`.
    mutating func meet(
        _ first: (TestDevice) async throws -> Void, _ second: (TestDevice) async throws -> Void
    ) async throws {
        await b.stop()
        try await first(a)
        try await a.control.sync.sync(wait: true)
        try await second(b)
        try b.fileSystem.shutDown()
        b = try await TestDevice.start(on: store, name: "sofa", state: b.state)
        try await converge(b, a)
    }

    /// The tree of the devices, which must be the same on both and on a new one.
    func tree() async throws -> [String: String] {
        let (one, two) = (try await a.tree(), try await b.tree())
        #expect(one == two)
        let fresh = try await TestDevice.start(on: store, name: "new")
        try await fresh.control.sync.sync(wait: true)
        #expect(try await fresh.tree() == one)
        try await fresh.close()
        for device in [a, b] { #expect(try await device.fileSystem.syncEngine.check() == []) }
        return one
    }

    func close() async throws {
        try await a.close()
        try await b.close()
    }
}
