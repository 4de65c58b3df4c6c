import Foundation
import Model
import Remote
import Testing

@testable import Engine

/// What a reader gets while a file comes, and what that costs.
@Suite struct DownloadTests {
    /// Numbered lines of 64 bytes.
    private func text(byteCount: Int) -> String {
        let filler = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ....\n"
        return (0..<byteCount / 64).map { String(format: "%07x", $0) + filler }.joined()
    }

    private func pair(_ store: FaultyStore = FaultyStore(MemoryStore())) async throws -> (TestDevice, TestDevice) {
        (try await TestDevice.start(on: store, name: "A"), try await TestDevice.start(on: store, name: "B"))
    }

    @Test(arguments: [(0, 4096), (100, 50), (1_048_576, 4096), (1_048_570, 20), (2_000_000, 1 << 20), (2_097_152, 9)])
    func `whoever waits for a piece of a file gets just the bytes that were asked for`(
        offset: Int, byteCount: Int
    ) async throws {
        let (a, b) = try await pair()
        let text = text(byteCount: 2 << 20)
        try await a.write(text, to: "f")
        try await settle(a, b)
        let handle = try await b.open("f", O_RDONLY)
        let expected = Array(Array(text.utf8)[offset...].prefix(byteCount))
        // The first time it waits for them, the second time they are here.
        #expect(try await b.bytes(handle, at: Int64(offset), byteCount: byteCount) == expected)
        #expect(try await b.bytes(handle, at: Int64(offset), byteCount: byteCount) == expected)
        try await b.close(handle)
        try await a.close()
        try await b.close()
    }

    @Test func `a long file comes with few requests`() async throws {
        let store = FaultyStore(MemoryStore())
        let (a, b) = try await pair(store)
        let text = text(byteCount: 24 << 20)
        let expected = Array(text.utf8)
        try await a.write(text, to: "f")
        try await settle(a, b)
        let before = store.callCount(.get, prefix: "packs/")
        let handle = try await b.open("f", O_RDONLY)
        for offset in stride(from: 0, to: 24 << 20, by: 1 << 20) {
            let bytes = try await b.bytes(handle, at: Int64(offset), byteCount: 1 << 20)
            #expect(bytes.elementsEqual(expected[offset..<offset + (1 << 20)]))
        }
        // Of two pieces each it would be twelve.
        #expect(store.callCount(.get, prefix: "packs/") - before < 12)
        try await b.close(handle)
        try await a.close()
        try await b.close()
    }
}
