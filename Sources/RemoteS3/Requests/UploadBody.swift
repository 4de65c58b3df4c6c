import NIOCore
import Remote
import Synchronization

/// A part of a body as the HTTP client pulls it. Notes the times, to detect that the client no longer pulls.
struct UploadBody: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    let reader: BodyReader
    let range: Range<Int64>
    let progress: Progress

    /// The size of a piece: 256 KiB.
    static let pieceByteCount: Int64 = 256 << 10

    /// When the transfer last progressed.
    final class Progress: Sendable {
        private let uptime: @Sendable () -> Duration
        private let last: Mutex<Duration>

        init(uptime: @escaping @Sendable () -> Duration) {
            self.uptime = uptime
            last = Mutex(uptime())
        }

        func note() { last.withLock { $0 = uptime() } }

        /// The time since the last progress.
        var silence: Duration { uptime() - last.withLock { $0 } }
    }

    func makeAsyncIterator() -> Iterator { Iterator(body: self, offset: range.lowerBound) }

    struct Iterator: AsyncIteratorProtocol {
        let body: UploadBody
        var offset: Int64

        mutating func next() async throws -> ByteBuffer? {
            body.progress.note()
            guard offset < body.range.upperBound else { return nil }
            let end = Swift.min(body.range.upperBound, offset + UploadBody.pieceByteCount)
            let piece = try await body.reader.bytes(in: offset..<end)
            offset = end
            return ByteBuffer(bytes: piece)
        }
    }
}
