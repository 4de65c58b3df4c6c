import AsyncHTTPClient
import NIOCore
import Synchronization

/// The body of a response, pulled piece by piece.
final class ResponseBody: Sendable {
    /// The client's iterator, which is not Sendable although it may move from one task to the next.
    ///
    /// Unchecked, since region analysis does not cover a value that returns into a mutex after an await. The guard is
    /// that the task that took it out of `source` is the only one to have it.
    private struct Source: @unchecked Sendable {
        var iterator: HTTPClientResponse.Body.AsyncIterator
    }

    /// Taken out while waiting for a piece.
    private let source = Mutex<Source?>(nil)

    /// Pieces come from this response from now on.
    func take(_ response: HTTPClientResponse) {
        let new = Source(iterator: response.body.makeAsyncIterator())
        source.withLock { $0 = new }
    }

    /// Ends the transfer.
    func end() { source.withLock { $0 = nil } }

    /// - Returns: `nil` at the end, and when there is no response.
    func next() async throws -> ByteBuffer? {
        guard var taken = source.withLock({ $0.take() }) else { return nil }
        let piece = try await taken.iterator.next()
        let back = taken
        source.withLock { $0 = back }
        return piece
    }
}
