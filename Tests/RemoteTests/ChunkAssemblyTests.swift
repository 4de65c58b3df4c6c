import Model
import Testing

@testable import Remote

@Suite struct ChunkAssemblyTests {
    private let chunks = [Samples.bytes(1000, seed: 1), Samples.bytes(1, seed: 2), Samples.bytes(500, seed: 3)]

    private var pieces: [Content.Piece] {
        var offset: Int64 = 0
        return chunks.enumerated().map { index, bytes in
            defer { offset += Int64(bytes.count) }
            return Content.Piece(
                index: index, byteCount: bytes.count,
                stored: .init(hash: ChunkHash(hashing: bytes), pack: Samples.id(1), offset: offset))
        }
    }

    /// Hands over bytes in parts of one size.
    private func assemble(_ bytes: [UInt8], by step: Int, borrowed: Bool) -> (ChunkAssembly, [ChunkAssembly.Chunk]) {
        var assembly = ChunkAssembly(of: pieces[...])
        var arrived: [ChunkAssembly.Chunk] = []
        for start in stride(from: 0, to: bytes.count, by: step) {
            let part = Array(bytes[start..<min(start + step, bytes.count)])
            if borrowed {
                part.withUnsafeBytes { assembly.take(.borrowed($0)) }
            } else {
                assembly.take(.array(part))
            }
            arrived += assembly.takeChunks()
        }
        return (assembly, arrived)
    }

    @Test(arguments: [1, 7, 500, 1000, 1001, 5000], [true, false])
    func `chunks are put together from parts of any length`(step: Int, borrowed: Bool) {
        let (assembly, arrived) = assemble(chunks.flatMap(\.self), by: step, borrowed: borrowed)
        #expect(assembly.isComplete)
        #expect(arrived.map(\.bytes) == chunks)
        #expect(arrived.map(\.piece) == pieces)
        #expect(arrived.map(\.hash) == chunks.map { ChunkHash(hashing: $0) })
    }

    @Test func `pieces that have not arrived completely are left`() {
        let (assembly, arrived) = assemble(Array(chunks.flatMap(\.self).prefix(1200)), by: 600, borrowed: true)
        #expect(arrived.map(\.piece.index) == [0, 1])
        #expect(Array(assembly.rest) == [pieces[2]])
    }

    @Test func `bytes behind the last piece are ignored`() {
        let (assembly, arrived) = assemble(chunks.flatMap(\.self) + [1, 2, 3], by: 4096, borrowed: true)
        #expect(assembly.isComplete)
        #expect(arrived.map(\.bytes) == chunks)
    }

    @Test func `a damaged chunk has another hash than its piece`() {
        var bytes = chunks.flatMap(\.self)
        bytes[1100] ^= 1
        let (_, arrived) = assemble(bytes, by: 256, borrowed: true)
        #expect(arrived.map { $0.hash == $0.piece.stored?.hash } == [true, true, false])
    }
}
