import Foundation
import Model
import TestStores
import Testing

@testable import Remote

/// The text of manifests: read fast, however it is written, and no longer than the file allows.
@Suite struct ManifestTests {
    private static let mebibyte = Int64(Content.chunkByteCount)
    private static let hash = String(repeating: "0123456789abcdef", count: 4)
    private static let pack = "00000000-0000-4000-8000-0000000000aa"

    /// As it would be written by another program.
    private struct Salted: Encodable {
        let runs: [Content.Run]
        let salt: UUID
    }

    @Test func `the text of a manifest is that of a JSON encoder with sorted keys`() throws {
        let whole = Content.Chunk(hash: ChunkHash(hashing: [1]), byteCount: Content.chunkByteCount)
        let first = Content.Chunk(hash: whole.hash, byteCount: Content.chunkByteCount, head: ChunkHash(hashing: [2]))
        var runs: [Content.Run] = [.stored(pack: Samples.id(0), offset: 1 << 40, chunks: [first, whole])]
        // Several pieces of text, of both kinds.
        runs += (0..<3000).map { .stored(pack: Samples.id($0), offset: Int64($0), chunks: [whole]) }
        runs += [Content.Run](repeating: .zeros(byteCount: Self.mebibyte), count: 10_000)
        runs.append(.stored(pack: Samples.id(2), offset: 0, chunks: [Content.Chunk](repeating: whole, count: 2000)))
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        for runs in [runs, []] {
            let plain = ManifestWriting(Content(runs: runs), salt: nil)
            let text = Array(try encoder.encode(Content(runs: runs)))
            #expect(try plain.text(key: "") == text)
            #expect(plain.hash == ChunkHash(hashing: text))
            let salt = UUID()
            let salted = ManifestWriting(Content(runs: runs), salt: salt)
            #expect(try salted.text(key: "") == Array(try encoder.encode(Salted(runs: runs, salt: salt))))
            #expect(try ManifestText(text, key: "").content() == Content(runs: runs))
        }
    }

    @Test func `a manifest is read however its values are written`() throws {
        let text = """
             {"later": {"runs": [1, "}"]}, "\\u0072uns" : [
               {"zeros" : 1.048576e6, "later": [{}]},
               {"zeros": null, "pa\\u0063k": "\(Self.pack.uppercased())", "offset": 70e-1, "later": null, "chunks":
                 [{"hash": "\\u0030\(Self.hash.dropFirst())", "byteCount": 1048576, "head": 7, "later": true},
                  {"byteCount": 1048576, "head": "\(Self.hash)", "hash": "\(Self.hash)"}]},
               {"pack": "\(Self.pack)", "offset": 0, "chunks": [{"hash": "\(Self.hash)", "byteCount": 5}]}
             ] }

            """
        let hash = try #require(ChunkHash(Self.hash))
        let pack = try #require(PackID(Self.pack))
        let whole = Content.Chunk(hash: hash, byteCount: Content.chunkByteCount)
        #expect(
            try ManifestText(Array(text.utf8), key: "").content().runs == [
                .zeros(byteCount: Self.mebibyte),
                .stored(
                    pack: pack, offset: 7,
                    chunks: [whole, Content.Chunk(hash: hash, byteCount: Content.chunkByteCount, head: hash)]),
                .stored(pack: pack, offset: 0, chunks: [Content.Chunk(hash: hash, byteCount: 5)]),
            ])
    }

    @Test(arguments: [
        #"{"runs":[{"zeros":5}],"runs":[]}"#, #"{"runs":[{"zeros":5,"zeros":5}]}"#, #"{"runs":[{"zeros":05}]}"#,
        #"{"runs":[{"zeros":9223372036854775808}]}"#, #"{"runs":[{"zeros":1.5}]}"#, #"{"runs":[{"zeros":5}]"#,
        #"{"runs":[{"zeros":5}]} x"#, #"{"runs":[{"zeros":5},]}"#, #"{"runs":[{}]}"#, #"{"runs":[{"zeros":"5"}]}"#,
        #"{"runs":null}"#, #"{}"#, #"[]"#, "",
    ])
    func `what is no list of runs is refused`(text: String) {
        #expect(throws: StoreError(.corrupt, key: "k")) { try ManifestText(Array(text.utf8), key: "k").content() }
    }

    // MARK: Packs

    @Test func `the packs of a manifest are those of its runs, however it is written`() async throws {
        let chunk = #"{"hash":"\#(Self.hash)","byteCount":5}"#
        let text = """
            {"later": [{"pack": 5}], "runs": [{"zeros": 5},
             {"chunks": [\(chunk)], "offset": 0, "p\\u0061ck": "\(Self.pack.uppercased())"},
             {"pack": "\(Samples.id(7))", "chunks": [{"pack": "x"}], "offset": 1e0}, {"pack": "\(Self.pack)"}]}
            """
        let (store, reference) = try await store(Array(text.utf8))
        guard case .manifest(let hash) = reference else { return }
        let packs = [try #require(PackID(Self.pack)), Samples.id(7)]
        #expect(try await store.packs(of: hash) == Set(packs))
        #expect(try await store.packs(of: hash, textByteLimit: text.utf8.count) == Set(packs))
        #expect(try await store.packs(of: hash, textByteLimit: text.utf8.count - 1) == nil)
    }

    @Test(arguments: [#"{"runs":[{"pack":5}]}"#, #"{"runs":[{"zeros":5}]"#, #"{"runs":[5]}"#, "{}", ""])
    func `there are no packs in what is no list of runs`(text: String) async throws {
        let (store, reference) = try await store(Array(text.utf8))
        guard case .manifest(let hash) = reference else { return }
        let key = ManifestStore.key(hash)
        await #expect(throws: StoreError(.corrupt, key: key)) { try await store.packs(of: hash) }
    }

    // MARK: Lengths

    private func store(_ text: [UInt8]) async throws -> (ManifestStore, ItemRecord.Reference) {
        let store = MemoryStore()
        let hash = ChunkHash(hashing: text)
        try await store.put(ManifestStore.key(hash), .bytes(Gzip.compress(text)))
        return (ManifestStore(store: store), .manifest(hash))
    }

    private func refusal(_ text: [UInt8], size: Int64?) async throws -> String? {
        let (store, reference) = try await store(text)
        return await #expect(throws: StoreError.self) { _ = try await store.get(reference, size: size) }?.detail
    }

    @Test func `a list of more chunks and holes than its file can have is refused`() async throws {
        let holes = Content(runs: [Content.Run](repeating: .zeros(byteCount: Self.mebibyte), count: 1000))
        let text = try ManifestWriting(holes, salt: nil).text(key: "")
        let (store, reference) = try await store(text)
        #expect(try await store.get(reference, size: 1000 * Self.mebibyte) == holes)
        #expect(try await store.get(reference, size: nil) == holes)
        #expect(
            try await refusal(text, size: 998 * Self.mebibyte)
                == "it lists more than 999 chunks and holes, the most that a file of this size can have")
        #expect(
            try await refusal(text, size: 1001 * Self.mebibyte)
                == "its chunks have \(1000 * Self.mebibyte) bytes, the file has \(1001 * Self.mebibyte)")
    }

    @Test func `a text that is longer than any list of its file is not unpacked`() async throws {
        // A million chunks in 30 KiB.
        let run = #"{"chunks":[{"byteCount":1048576,"hash":"\#(Self.hash)"}],"offset":0,"pack":"\#(Self.pack)"},"#
        var text = Array(#"{"runs":["#.utf8)
        for _ in 0..<1 << 15 { text += run.utf8 }
        text.removeLast()
        text += "]}".utf8
        #expect(try await refusal(text, size: 1) == "unpacks to more than \(65 << 10) bytes")
        #expect(try await refusal(text, size: -1) == "unpacks to more than \(65 << 10) bytes")
        let (store, reference) = try await store(text)
        #expect(try await store.get(reference, size: Self.mebibyte << 15).runs.count == 1 << 15)
    }
}
