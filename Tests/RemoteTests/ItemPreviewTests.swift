import Foundation
import Model
import TestStores
import Testing

@testable import Remote

@Suite struct ItemPreviewTests {
    private let hash = ChunkHash(hashing: [1])

    private func preview(_ pack: PackID, _ offset: Int64, _ byteCount: Int) throws -> ItemPreview {
        try #require(ItemPreview(hash: hash, pack: pack, offset: offset, byteCount: byteCount))
    }

    @Test func `a preview has a place in a pack and a length of at most 16 KiB`() {
        func isValid(_ offset: Int64, _ byteCount: Int) -> Bool {
            ItemPreview(hash: hash, pack: .root, offset: offset, byteCount: byteCount) != nil
        }
        #expect(isValid(0, 1) && isValid(1 << 62, 16384))
        for (offset, byteCount) in [(-1, 1), (0, 0), (0, -1), (0, 16385), (1 << 62 + 1, 1), (.max, 1), (.min, .max)] {
            #expect(!isValid(Int64(offset), byteCount))
        }
    }

    @Test(arguments: [
        "1", "null", "{}", #"{"byteCount":0,"hash":"HASH","offset":0,"pack":"PACK"}"#,
        #"{"byteCount":16385,"hash":"HASH","offset":0,"pack":"PACK"}"#,
        #"{"byteCount":5,"hash":"HASH","offset":-1,"pack":"PACK"}"#,
        #"{"byteCount":5,"hash":"x","offset":0,"pack":"PACK"}"#,
        #"{"byteCount":5,"hash":"HASH","offset":1e99,"pack":"PACK"}"#,
    ])
    func `a record with another value in its place is one without a preview`(_ value: String) throws {
        let text = value.replacing("HASH", with: "\(hash)").replacing("PACK", with: "\(PackID.root)")
        #expect(try record(preview: text).preview == nil)
        let whole = #"{"byteCount":5,"hash":"\#(hash)","offset":7,"pack":"\#(PackID.root)"}"#
        #expect(try record(preview: whole).preview == (try preview(.root, 7, 5)))
    }

    private func record(preview: String) throws -> ItemRecord {
        let text =
            #"{"base":0,"content":{"runs":[]},"device":"\#(UUID())","id":"\#(UUID())","kind":"file","mode":420,"modified":0,"#
            + #""name":"a","parent":"\#(ItemID.root)","preview":\#(preview),"size":0,"xattrs":{}}"#
        return try JSONDecoder().decode(ItemRecord.self, from: Data(text.utf8))
    }

    @Test func `previews that are close to each other are fetched together`() throws {
        let (one, other) = (ItemID(uuid: UUID()), ItemID(uuid: UUID()))
        let near = try [preview(one, 100, 50), preview(one, 0, 100), preview(one, 150 + 65536, 10)]
        let far = try [preview(one, 160 + 2 * 65536 + 1, 10), preview(other, 160, 10)]
        let requests = PreviewReader.requests(for: near + far + near)
        #expect(Set(requests.map(\.range)) == [0..<65696, 131233..<131243, 160..<170])
        #expect(requests.reduce(0) { $0 + $1.previews.count } == 5)
        // Not more than 4 MiB at a time.
        let many = try (0..<1000).map { try preview(one, Int64($0) * 16384, 16384) }
        let ranges = PreviewReader.requests(for: many).map(\.range)
        #expect(ranges.count == 4 && ranges.allSatisfy { $0.count <= 4 << 20 })
    }

    @Test func `what begins as a JPEG and is short may be a preview`() {
        #expect(ItemPreview.accepts([0xff, 0xd8, 0xff, 0xe0]))
        #expect(ItemPreview.accepts([0xff, 0xd8, 0xff] + [UInt8](repeating: 0, count: 16381)))
        for bytes: [UInt8] in [
            [], [0xff, 0xd8], Array("\u{89}PNG".utf8), [0xff, 0xd8, 0xff] + [UInt8](repeating: 0, count: 16382),
        ] { #expect(!ItemPreview.accepts(bytes)) }
    }
}
