import Foundation
import Model
import TestStores
import Testing

@testable import Remote

@Suite struct ContainerTests {
    let base = MemoryStore()
    let identity = Samples.identity

    @Test func `opening a created container returns its identity`() async throws {
        try await Container.create(in: base, identity: identity)
        #expect(try await Container.open(in: base).identity == identity)
        #expect(try await base.list(prefix: "", after: nil, limit: 9).map(\.key) == ["container.json"])
    }

    @Test func `opening a location without a container throws an error that says so`() async {
        let error = await #expect(throws: StoreError(.notFound, key: "container.json")) {
            _ = try await Container.open(in: base)
        }
        #expect(error?.detail.contains("no container here") == true)
    }

    @Test func `creating a second container at a location is refused and changes nothing`() async throws {
        try await Container.create(in: base, identity: identity)
        var other = identity
        other.uuid = Samples.uuid(2)
        await #expect(throws: StoreError(.preconditionFailed, key: "container.json")) {
            try await Container.create(in: base, identity: other)
        }
        #expect(try await Container.open(in: base).identity == identity)
    }

    @Test(arguments: [
        "adopted/a", "enrol/a-request", "keyring/a/000001", "log/00000000000000000001", "manifests/a", "packs/a",
        "shares/a", "snapshot/00000000000000000001",
    ])
    func `beside objects of a container without its container.json, none is created`(key: String) async throws {
        try await base.put(key, .bytes([1]))
        let error = await #expect(throws: StoreError(.preconditionFailed, key: "container.json")) {
            try await Container.create(in: base, identity: identity)
        }
        #expect(error?.remedy == .putBackDescription)
        #expect(try await base.list(prefix: "", after: nil, limit: 9).map(\.key) == [key])
        // Beside its container.json they are as they should be.
        try await Container.describe(identity, in: base)
        try await Container.create(in: base, identity: identity)
        #expect(try await Container.open(in: base).identity == identity)
    }

    @Test func `a place that cannot be listed gets no container`() async throws {
        let store = FaultyStore(base)
        store.plan(.failBefore(.denied), on: .list, prefix: "keyring/")
        await #expect(throws: StoreError(.denied, key: "keyring/")) {
            try await Container.create(in: store, identity: identity)
        }
        #expect(try await base.list(prefix: "", after: nil, limit: 9) == [])
    }

    @Test func `a creation that took effect although the call failed succeeds`() async throws {
        let store = FaultyStore(base)
        store.plan(.failAfter(.unavailable), on: .create, prefix: "container.json")
        try await Container.create(in: store, identity: identity)
        #expect(try await Container.open(in: base).identity == identity)
    }

    @Test func `a creation that failed throws the error of the store`() async throws {
        let store = FaultyStore(base)
        store.plan(.failBefore(.denied), on: .create, prefix: "container.json")
        await #expect(throws: StoreError(.denied, key: "container.json")) {
            try await Container.create(in: store, identity: identity)
        }
    }

    @Test func `a store whose create overwrites is refused, before and after a container exists`() async throws {
        let store = OverwritingStore(base: base)
        let key = "probe/\(identity.uuid.uuidString.lowercased())"
        await #expect(throws: StoreError(.invalid, key: key)) {
            try await Container.create(in: store, identity: identity)
        }
        await #expect(throws: StoreError(.notFound, key: "container.json")) { _ = try await Container.open(in: base) }
        try await Container.create(in: base, identity: identity)
        try await Container.open(in: base).verifyCreateOnly()
        await #expect(throws: StoreError(.invalid, key: "container.json")) {
            try await Container.open(in: store).verifyCreateOnly()
        }
        #expect(try await Container.open(in: base).identity == identity)
    }

    @Test func `a store that lets write answers that the object exists: the container is writable`() async throws {
        try await Container.create(in: base, identity: identity)
        #expect(try await Container.open(in: base).writeAccess() == .writable)
        #expect(WriteAccess.writable.refusal == nil)
    }

    @Test func `a store that denies a write and no read makes the container read-only, and nothing is written`()
        async throws
    {
        try await Container.create(in: base, identity: identity)
        let store = FaultyStore(base) { operation, _ in
            [.put, .create, .delete].contains(operation) ? .failBefore(.denied) : nil
        }
        let container = try await Container.open(in: store)
        #expect(try await container.writeAccess() == .readOnly(reason: "injected"))
        #expect(WriteAccess.readOnly(reason: "injected").refusal == "injected")
        #expect(try await base.list(prefix: "", after: nil, limit: 9).map(\.key) == ["container.json"])
        await #expect(throws: StoreError(.denied, key: "container.json")) { try await container.verifyCreateOnly() }
    }

    @Test func `a container that cannot be read is not taken for a read-only one`() async throws {
        try await Container.create(in: base, identity: identity)
        let store = FaultyStore(base) { _, _ in .failBefore(.denied) }
        await #expect(throws: StoreError(.denied, key: "container.json")) {
            _ = try await Container(store: store, identity: identity).writeAccess()
        }
        #expect(store.callCount(.create) == 0)
    }

    @Test(arguments: StoreError.Code.allCases)
    func `only two answers to the creation of an existing object tell of permissions`(code: StoreError.Code) throws {
        let answer = StoreError(code, key: "k", "a reason")
        switch code {
        case .preconditionFailed: #expect(try WriteAccess(toExisting: "k", answer) == .writable)
        case .denied: #expect(try WriteAccess(toExisting: "k", answer) == .readOnly(reason: "a reason"))
        case .notFound, .throttled, .unavailable, .corrupt, .full, .invalid, .cancelled:
            #expect(throws: answer) { _ = try WriteAccess(toExisting: "k", answer) }
        }
    }

    @Test func `a store that creates an object over an existing one is no store for a container`() {
        #expect(throws: StoreError(.invalid, key: "k")) { _ = try WriteAccess(toExisting: "k", nil) }
    }

    @Test(arguments: [
        (#"{"format":2,"shape":"unknown"}"#, StoreError.Code.invalid), (#"{"format":0}"#, .corrupt),
        (#"{"format":1}"#, .corrupt),
        (#"{"format":"1"}"#, .corrupt), ("{", .corrupt), ("", .corrupt), ("[]", .corrupt),
        (String(repeating: " ", count: 70_000), .corrupt),
    ])
    func `a container.json that is damaged or of a newer format is refused`(
        text: String, code: StoreError.Code
    ) async throws {
        try await base.put("container.json", .bytes(Array(text.utf8)))
        let error = await #expect(throws: StoreError(code, key: "container.json")) {
            _ = try await Container.open(in: base)
        }
        if code == .invalid { #expect(error?.detail.contains("update Dewpoint") == true) }
    }

    // MARK: The quota

    private func text(quota: String) -> String {
        #"{"created":0,"format":1,"id":"iCloud.test","settings":{"documentScopePublic":true,"folderLevels":"any","name":"N","#
            + #""quota":\#(quota)},"uuid":"0B5A1F3C-6D0E-4E61-9B5B-3C1B4E1A7D20"}"#
    }

    @Test(arguments: [Int64(1), 50 << 30, 1 << 62])
    func `a quota is created, read and written as an integer`(byteCount: Int64) async throws {
        var limited = identity
        limited.settings.quota = ContainerQuota(byteCount: byteCount)
        try await Container.create(in: base, identity: limited)
        #expect(try await Container.open(in: base).identity == limited)
        let text = try await content()
        #expect(text.contains(#","quota":\#(byteCount)}"#))
    }

    @Test(arguments: ["null", "0", "-1", "4611686018427387905", "1e30", "1.5", #""50G""#, "true", "[]"])
    func `a quota that is no number of bytes is refused, and null is none`(value: String) async throws {
        try await base.put(Container.key, .bytes(Array(text(quota: value).utf8)))
        if value == "null" {
            #expect(try await Container.open(in: base).identity.settings.quota == nil)
            return
        }
        let error = await #expect(throws: StoreError(.corrupt, key: Container.key)) {
            _ = try await Container.open(in: base)
        }
        if ["0", "-1", "4611686018427387905"].contains(value) {
            #expect(error?.detail == "settings.quota: a quota is 1 to 4611686018427387904 bytes")
        }
    }

    @Test func `changing the quota leaves every other member as it is`() async throws {
        let before =
            #"{"created":1700000000123456789,"format":1,"id":"iCloud.test","later":{"a":[1,2.5,"/"],"b":null},"#
            + #""settings":{"documentScopePublic":true,"folderLevels":"one","name":"Größe / N","new":true},"#
            + #""uuid":"0B5A1F3C-6D0E-4E61-9B5B-3C1B4E1A7D20"}"#
        try await base.put(Container.key, .bytes(Array(before.utf8)))
        let quota = try #require(ContainerQuota(byteCount: 1 << 62))
        let known = try await Container.open(in: base).identity
        let identity = try await Container.setQuota(quota, in: base)
        #expect(identity.settings.quota == quota && identity.uuid == known.uuid)
        #expect(try await Container.open(in: base).identity == identity)
        #expect(
            try await content()
                == before.replacingOccurrences(of: #""new":true}"#, with: #""new":true,"quota":4611686018427387904}"#))
        #expect(try await Container.setQuota(nil, in: base) == known)
        #expect(try await content() == before)
    }

    private func content() async throws -> String {
        String(decoding: try await base.get(Container.key, range: nil).collect(upTo: 9999), as: UTF8.self)
    }

    @Test func `a quota that is set already is not written again`() async throws {
        let store = FaultyStore(base)
        try await Container.create(in: store, identity: identity)
        #expect(try await Container.setQuota(nil, in: store) == identity)
        #expect(store.callCount(.put, prefix: Container.key) == 0)
    }

    @Test func `the quota of a container that is not there, or needs a newer version, is not changed`() async throws {
        let quota = ContainerQuota(byteCount: 1)
        await #expect(throws: StoreError(.notFound, key: Container.key)) {
            try await Container.setQuota(quota, in: base)
        }
        try await base.put(Container.key, .bytes(Array(#"{"format":2}"#.utf8)))
        await #expect(throws: StoreError(.invalid, key: Container.key)) {
            try await Container.setQuota(quota, in: base)
        }
        #expect(try await content() == #"{"format":2}"#)
    }
}

/// A store whose `create` overwrites existing objects, as was observed on an S3 server.
private struct OverwritingStore: StoreDecorator {
    let base: MemoryStore

    func base(_ key: String) -> any ObjectStore { base }

    func create(_ key: String, _ body: Body) async throws(StoreError) { try await base.put(key, body) }
}
