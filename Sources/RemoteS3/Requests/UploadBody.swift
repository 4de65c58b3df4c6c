import NIOCore
import Remote

/// A part of a body as the HTTP client pulls it: one copy of bytes in memory.
struct UploadBody: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    let reader: BodyReader
    let range: Range<Int64>

    /// The most bytes of a piece: 256 KiB.
    static let pieceByteCount: Int64 = 256 << 10

    func makeAsyncIterator() -> Iterator { Iterator(body: self, offset: range.lowerBound) }

    struct Iterator: AsyncIteratorProtocol {
        let body: UploadBody
        var offset: Int64

        mutating func next() async throws -> ByteBuffer? {
            guard offset < body.range.upperBound else { return nil }
            let end = Swift.min(body.range.upperBound, offset + UploadBody.pieceByteCount)
            let piece = try await body.reader.start(of: offset..<end)
            offset += Int64(piece.count)
            return ByteBuffer(bytes: piece)
        }
    }
}
