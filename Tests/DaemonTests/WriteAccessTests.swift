import Control
import Foundation
import Metering
import Model
import Remote
import TestStores
import Testing

@testable import Daemon

/// How a mount finds out whether its device may change the container, and what it remembers of that.
@Suite struct WriteAccessTests {
    private static let identity = ContainerIdentity(
        id: ContainerIdentifier("iCloud.com.example.Notes")!, uuid: UUID(), created: Timestamp(rawValue: 0),
        settings: .init(name: "Notes", documentScopePublic: true, folderLevels: .any))
    private static let readOnly = WriteAccess.readOnly(reason: "injected")

    private func remote(
        _ url: String = "s3://notes/work", _ fault: @escaping @Sendable (FaultyStore.Operation) -> FaultyStore.Fault?
    ) async throws -> RemoteContainer {
        let base = MemoryStore()
        try await Container.create(in: base, identity: Self.identity)
        return RemoteContainer(
            location: try ContainerLocation(url: url),
            container: Container(
                store: FaultyStore(base) { operation, _ in fault(operation) }, identity: Self.identity),
            link: LinkControl(), metrics: MetricRegistry())
    }

    @Test func `a store that refuses writing gives a read-only container, and a sentence with what to do`()
        async throws
    {
        var remote = try await remote { $0 == .create ? .failBefore(.denied) : nil }
        #expect(remote.readOnlyNotice == nil)
        try await remote.askAccess()
        #expect(remote.access == Self.readOnly)
        #expect(
            remote.readOnlyNotice
                == "the store at s3://notes/work refuses writing, so the mount is read-only; if that is not intended, "
                + "give these keys the right to write, then unmount and mount again: injected")
        remote = try await self.remote("file:///srv/notes") { $0 == .create ? .failBefore(.denied) : nil }
        try await remote.askAccess()
        #expect(remote.readOnlyNotice?.contains("give this user the right to write") == true)
    }

    @Test(arguments: [FaultyStore.Operation.get, .create])
    func `an unknown container is not mounted while its store does not say whether it may be changed`(
        operation: FaultyStore.Operation
    ) async throws {
        var remote = try await remote { $0 == operation ? .failBefore(.unavailable) : nil }
        let expected = DaemonError(
            .unreachable, "the store at s3://notes/work does not answer; try again later: injected")
        await #expect(throws: expected) { try await remote.askAccess() }
    }

    @Test(arguments: [WriteAccess.writable, readOnly], [StoreError.Code.unavailable, .denied, .invalid, .full])
    func `a known container is mounted as last time when its store does not say, and as it says when it does`(
        last: WriteAccess, code: StoreError.Code
    ) async throws {
        // Denied before the question: all access is refused.
        var remote = try await remote { $0 == .get ? .failBefore(code) : nil }
        await remote.askAccess(within: .seconds(60), otherwise: last)
        #expect(remote.access == last)
        remote = try await self.remote { _ in nil }
        await remote.askAccess(within: .seconds(60), otherwise: last)
        #expect(remote.access == .writable)
        remote = try await self.remote { $0 == .create ? .failBefore(.denied) : nil }
        await remote.askAccess(within: .seconds(60), otherwise: last)
        #expect(remote.access == Self.readOnly)
    }

    @Test func `a store that hangs is not waited for longer than the limit`() async throws {
        var remote = try await remote { $0 == .create ? .delay(.seconds(3600)) : nil }
        let start = ContinuousClock.now
        await remote.askAccess(within: .milliseconds(50), otherwise: Self.readOnly)
        #expect(remote.access == Self.readOnly)
        // Far less than the store hangs, and enough for a busy machine.
        #expect(ContinuousClock.now - start < .seconds(600))
    }

    @Test func `the state remembers what the store said about writing, with the device's name`() throws {
        let directory = URL.temporaryDirectory.appending(path: "access-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let state = StateDirectory(path: directory)
        try state.make()
        let place = try ContainerLocation(url: "s3://notes/work")
        #expect(state.lastAccess == .writable)
        try state.record(Self.identity, at: place, deviceName: "desk", access: Self.readOnly)
        #expect(state.lastAccess == Self.readOnly && state.deviceName == "desk")
        try state.record(place)
        #expect(state.lastAccess == Self.readOnly && state.deviceName == "desk")
        try state.record(Self.identity, at: place, access: .writable)
        #expect(state.lastAccess == .writable && state.deviceName == "desk")
        // As an earlier version has recorded it.
        try #"{"remote":"s3://notes/work","deviceName":"desk"}"#.write(
            toFile: directory + "/daemon.json", atomically: true, encoding: .utf8)
        #expect(state.lastAccess == .writable && state.deviceName == "desk")
    }
}
