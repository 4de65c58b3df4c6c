import Control
import ControlAPI
import Model
import Replica
import TestStores
import Testing

@testable import FileSystem

/// A daemon gives way only to a program that can go on with what it leaves.
@Suite(.virtualTime) struct UpgradeTests {
    @Test(arguments: [(1, 0), (-1, 0), (0, -1)])
    func `a program that reads another form of what is open, or no index so new, is refused`(
        handles: Int, index: Int
    ) async throws {
        let device = try await TestDevice.start(on: MemoryStore(), name: "A")
        let request = UpgradeRequest(
            program: "/usr/bin/dewpoint", handles: Int(HandleSlots.version) + handles,
            index: Replica.indexVersion + index)
        let error = #expect(throws: FileError.self) { try request.perform(in: device.control) }
        #expect(error?.code == .unsupported)
        #expect(
            error?.detail == "/usr/bin/dewpoint cannot go on with what this version leaves; unmount, and mount again")
        try await device.close()
    }

    @Test func `one that reads a newer index is asked for`() async throws {
        let device = try await TestDevice.start(on: MemoryStore(), name: "A")
        let request = UpgradeRequest(
            program: "/usr/bin/dewpoint", handles: Int(HandleSlots.version), index: Replica.indexVersion + 1)
        // There is no daemon to give way.
        let error = #expect(throws: FileError.self) { try request.perform(in: device.control) }
        #expect(error?.detail == "there is no daemon")
        try await device.close()
    }
}
