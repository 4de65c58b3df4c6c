import Foundation
import Model
import Remote
import TestStores
import Testing

@testable import Sealing

/// `container.json` of an encrypted container, by which others find it.
@Suite struct ContainerStubTests {
    private let base = MemoryStore()
    private let stub = ContainerStub(uuid: UUID())

    private func put(_ text: String) async throws { try await base.put("container.json", .bytes(Array(text.utf8))) }

    static let plain =
        #"{"created":0,"format":1,"id":"iCloud.test","settings":{"documentScopePublic":true,"folderLevels":"any","#
        + #""name":"N"},"uuid":"0B5A1F3C-6D0E-4E61-9B5B-3C1B4E1A7D20"}"#

    @Test func `it is written as the format says, and read again`() throws {
        let uuid = try #require(UUID(uuidString: "C61E7C8E-6008-4C05-9D83-C2708F13E113"))
        let text = ContainerStub(uuid: uuid).text
        #expect(text == #"{"format":2,"uuid":"C61E7C8E-6008-4C05-9D83-C2708F13E113"}"#)
        #expect(ContainerStub(Array(text.utf8))?.uuid == uuid)
        #expect(ContainerStub(Array(Self.plain.utf8)) == nil)
    }

    @Test func `the right one takes one request`() async throws {
        try await put(stub.text)
        let store = FaultyStore(base)
        try await stub.verify(in: store)
        #expect(store.callCount(.get) == 1)
    }

    @Test(arguments: [
        ("", "not JSON, or not a value of its type"), (#"{"format":2,"uuid":"zzz"}"#, "uuid is missing, or is none"),
        (#"{"uuid":"14D23375-BB46-4541-8700-9315F5C6521F"}"#, "format is missing"),
        (
            #"{"format":2,"uuid":"14D23375-BB46-4541-8700-9315F5C6521F"}"#,
            "it is that of another encrypted container, 14d23375-bb46-4541-8700-9315f5c6521f"
        ),
        (plain, "it is that of a plain container, iCloud.test"),
    ])
    func `another one is refused with what it is and what to put there`(text: String, fault: String) async throws {
        try await put(text)
        let error = await #expect(throws: StoreError(.corrupt, key: "container.json")) {
            try await stub.verify(in: base)
        }
        #expect(error?.detail == "\(fault); put it back as \(stub.text)")
    }

    @Test func `a missing one is refused with what to put there`() async throws {
        let error = await #expect(throws: StoreError(.notFound, key: "container.json")) {
            try await stub.verify(in: base)
        }
        #expect(error?.detail == "it is missing; put it back as \(stub.text)")
    }

    @Test func `one of a newer format, and one that cannot be read, are refused as that`() async throws {
        try await put(#"{"format":3}"#)
        await #expect(throws: StoreError(.invalid, key: "container.json")) { try await stub.verify(in: base) }
        let store = FaultyStore(base)
        store.plan(.failBefore(.unavailable), on: .get)
        await #expect(throws: StoreError(.unavailable, key: "container.json")) { try await stub.verify(in: store) }
    }

    @Test func `one that was cut on its way is read again`() async throws {
        try await put(stub.text)
        let store = FaultyStore(base)
        store.plan(.truncate(byteCount: 20), on: .get)
        try await stub.verify(in: store)
        #expect(store.callCount(.get) == 2)
    }
}
