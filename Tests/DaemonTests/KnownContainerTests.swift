import Foundation
import Model
import Remote
import Testing

@testable import Daemon

/// A container that was mounted before can be opened while its store is unavailable.
@Suite struct KnownContainerTests {
    private let directory = FileManager.default.temporaryDirectory.appending(path: "known-\(UUID().uuidString)").path()
    private var url: String { "file://\(directory)/remote" }
    private var place: ContainerLocation { get throws { try ContainerLocation(url: url) } }
    private var elsewhere: ContainerLocation { get throws { try ContainerLocation(url: url + "2") } }
    private var environment: [String: String] { ["XDG_STATE_HOME": "\(directory)/state"] }

    private func identity(_ id: String = "iCloud.com.example.Notes") throws -> ContainerIdentity {
        ContainerIdentity(
            id: try #require(ContainerIdentifier(id)), uuid: UUID(), created: Timestamp(rawValue: 0),
            settings: .init(name: "Notes", documentScopePublic: true, folderLevels: .any))
    }

    private func make(_ identity: ContainerIdentity) async throws -> StateDirectory {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        try await RemoteContainer.create(at: try place, identity: identity)
        let state = StateDirectory(container: identity.id, environment: environment)
        try state.make()
        return state
    }

    private func remove() { try? FileManager.default.removeItem(atPath: directory) }

    /// Root's shell, a service and mount(8) make new states in different places.
    @Test func `a state that was made elsewhere is found there`() async throws {
        defer { remove() }
        let identity = try identity()
        _ = try await make(identity)
        let atHome = StateDirectory(path: "\(directory)/.local/state/dewpoint/\(identity.id)")
        try atHome.make()
        try atHome.record(identity, at: try place)
        let service = ["HOME": directory, "STATE_DIRECTORY": "\(directory)/service"]
        #expect(StateDirectory.known(try place, environment: service, user: 0) == atHome)
        #expect(StateDirectory.known(try place, environment: ["HOME": directory], user: 0) == atHome)
        #expect(StateDirectory.known(try place, environment: ["HOME": "/nonexistent"], user: 0) == nil)
        // Where there are two, the one in the place for new ones is used.
        let ofService = StateDirectory(path: "\(directory)/service/\(identity.id)")
        try ofService.make()
        try ofService.record(identity, at: try place)
        #expect(StateDirectory.known(try place, environment: service, user: 0) == ofService)
        #expect(StateDirectory.known(try place, environment: ["HOME": directory], user: 0) == atHome)
    }

    @Test func `a recorded container is found by its URL only, and only if one state has that URL`() async throws {
        defer { remove() }
        let identity = try identity()
        let state = try await make(identity)
        #expect(try StateDirectory.known(place, environment: environment) == nil)
        try state.record(identity, at: place)
        #expect(try StateDirectory.known(place, environment: environment) == state)
        #expect(try state.identity(of: place) == identity)
        #expect(try state.identity(of: elsewhere) == nil)
        #expect(try StateDirectory.known(elsewhere, environment: environment) == nil)
        #expect(try state.location().url == url)
        // Two state directories have the same URL: only the store can tell which one is meant.
        let second = StateDirectory(path: "\(directory)/state/dewpoint/second")
        try second.make()
        try second.record(identity, at: place)
        #expect(try StateDirectory.known(place, environment: environment) == nil)
    }

    @Test func `a known container opens while its store is unavailable, and reconnects when it is back`() async throws {
        defer { remove() }
        let identity = try identity()
        let state = try await make(identity)
        try state.record(identity, at: place)
        #expect(rename("\(directory)/remote", "\(directory)/away") == 0)
        let remote = try await RemoteContainer.open(place, state: state)
        #expect(remote.identity == identity)
        await #expect(throws: StoreError(.unavailable, key: "container.json")) {
            try await Container.open(in: remote.container.store)
        }
        #expect(remote.container.store.changes(prefix: "log/") == nil)
        // An empty directory may be a mountpoint whose disk is not mounted.
        #expect(mkdir("\(directory)/remote", 0o755) == 0)
        await #expect(throws: StoreError(.unavailable, key: "log/")) {
            try await remote.container.store.list(prefix: "log/", after: nil, limit: 1)
        }
        #expect(rmdir("\(directory)/remote") == 0)
        #expect(rename("\(directory)/away", "\(directory)/remote") == 0)
        #expect(try await Container.open(in: remote.container.store).identity == identity)
        #expect(remote.container.store.changes(prefix: "log/") != nil)
    }

    @Test func `opening an unknown container without its store throws notFound`() async throws {
        defer { remove() }
        let state = try await make(try identity())
        _ = try await RemoteContainer.open(place, state: state)
        #expect(rename("\(directory)/remote", "\(directory)/away") == 0)
        let error = try await #require(throws: DaemonError.self) {
            _ = try await RemoteContainer.open(place, state: state)
        }
        #expect(error.kind == .notFound && error.description.contains(url))
    }

    @Test func `a recorded identity that cannot be decoded is ignored`() async throws {
        defer { remove() }
        let identity = try identity()
        let state = try await make(identity)
        try state.record(identity, at: place)
        try "{".write(toFile: "\(state.path)/container.json", atomically: false, encoding: .utf8)
        #expect(try state.identity(of: place) == nil)
        #expect(try await RemoteContainer.open(place, state: state).identity == identity)
    }
}
