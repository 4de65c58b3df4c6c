import Foundation
import Model
import Testing

@Suite struct ContentTests {
    private let unit = Content.chunkByteCount
    private let pack = ItemID(uuid: UUID(uuidString: "6d1e2c44-0000-4000-8000-000000000001")!)

    private func hash(_ byte: UInt8) -> ChunkHash { ChunkHash(bytes: [UInt8](repeating: byte, count: 32))! }

    private func piece(_ index: Int, _ byteCount: Int, at offset: Int64?) -> Content.Piece {
        Content.Piece(
            index: index, byteCount: byteCount,
            stored: offset.map { .init(hash: hash(UInt8(index)), pack: pack, offset: $0) })
    }

    @Test func `contiguous pieces become one run`() {
        let content = Content(pieces: [piece(0, unit, at: 0), piece(1, unit, at: Int64(unit)), piece(2, 5, at: 0)])
        #expect(content.runs.count == 2)
        #expect(content.byteCount == Int64(2 * unit + 5))
    }

    @Test func `a hole of several chunks is stored as one run`() {
        let content = Content(runs: [
            .zeros(byteCount: Int64(unit) * 3),
            .stored(pack: pack, offset: 7, chunks: [.init(hash: hash(1), byteCount: 10)]),
        ])
        #expect(content.pieces.count == 4)
        #expect(content.pieces[3].fileOffset == Int64(3 * unit))
        #expect(Content(pieces: content.pieces) == content)
    }

    @Test func `the pieces of a hole of several terabytes are created on demand`() {
        let byteCount = 8 << 40 + Int64(3)
        let chunks = [Content.Chunk(hash: hash(1), byteCount: unit), .init(hash: hash(2), byteCount: unit)]
        let content = Content(runs: [
            .stored(pack: pack, offset: 100, chunks: chunks), .zeros(byteCount: byteCount),
        ])
        let pieces = content.pieces
        #expect(pieces.count == 8 << 20 + 3)
        #expect(
            pieces[1]
                == Content.Piece(
                    index: 1, byteCount: unit, stored: .init(hash: hash(2), pack: pack, offset: Int64(100 + unit))))
        #expect(pieces[2] == Content.Piece(index: 2, byteCount: unit, stored: nil))
        #expect(pieces.last == Content.Piece(index: pieces.count - 1, byteCount: 3, stored: nil))
        #expect(pieces[0..<3].map(\.index) == [0, 1, 2])
        #expect(Content.empty.pieces.isEmpty)
    }

    @Test func `content with the same chunks in another pack has the same bytes`() {
        let other = ItemID(uuid: UUID(uuidString: "6d1e2c44-0000-4000-8000-000000000002")!)
        let chunks = [Content.Chunk(hash: hash(1), byteCount: 10)]
        let here = Content(runs: [.stored(pack: pack, offset: 0, chunks: chunks)])
        let there = Content(runs: [.stored(pack: other, offset: 99, chunks: chunks)])
        #expect(here.hasSameBytes(as: there))
        #expect(!here.hasSameBytes(as: Content(runs: [.zeros(byteCount: 10)])))
    }

    @Test func `content round-trips through JSON`() throws {
        let content = Content(pieces: [piece(0, unit, at: nil), piece(1, 3, at: 12)])
        let data = try JSONEncoder().encode(content)
        #expect(try JSONDecoder().decode(Content.self, from: data) == content)
    }

    @Test func `the hash of a head is encoded, and ignored when bytes are compared`() throws {
        func content(_ head: ChunkHash?) -> Content {
            let first = Content.Piece.Stored(hash: hash(1), pack: pack, offset: 0, head: head)
            return Content(pieces: [
                .init(index: 0, byteCount: unit, stored: first), piece(1, 9, at: Int64(unit)),
            ])
        }
        let headed = content(hash(7))
        #expect(headed.pieces.map(\.stored?.head) == [hash(7), nil])
        let data = try JSONEncoder().encode(headed)
        #expect(try JSONDecoder().decode(Content.self, from: data) == headed)
        #expect(headed.hasSameBytes(as: content(nil)))
    }

    @Test(arguments: ["7", "\"seven\"", "null", "{}"])
    func `an invalid hash of a head is decoded as no hash`(head: String) throws {
        let text = "{\"hash\":\"\(hash(1))\",\"byteCount\":\(unit),\"head\":\(head)}"
        #expect(
            try JSONDecoder().decode(Content.Chunk.self, from: Data(text.utf8))
                == Content.Chunk(hash: hash(1), byteCount: unit))
    }
}
