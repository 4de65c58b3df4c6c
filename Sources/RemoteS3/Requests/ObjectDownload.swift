import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import Remote
import Synchronization

/// The bytes of an object as they arrive. An interrupted transfer is continued with a new request.
///
///     flowing ── piece ───▶ flowing
///     flowing ── broken ──▶ flowing       a GET from here on, of the same object by its ETag; at most `resumeLimit`
///                                         times without a byte in between
///     flowing ── end ─────▶ ended
final class ObjectDownload: Sendable {
    private let connection: S3Connection
    private let key: String
    private let fullKey: String
    private let range: Range<Int64>?
    private let state = Mutex(State())
    private let body = ResponseBody()

    /// How often in a row a transfer is continued without receiving a byte.
    private static let resumeLimit = 3

    private static let unknownEnd = Int64.max

    private struct State {
        /// The next byte.
        var position: Int64 = 0
        /// The end of the bytes, known from the first response.
        var end: Int64 = 0
        /// Whether no response has said where the object ends, as through a proxy that sends everything in chunks: then
        /// it ends with the response, at ``end`` at the latest.
        var isOpen = false
        /// Identifies the object: another one under the same key has another.
        var etag: String?
        var resumeCount = 0
    }

    /// - Parameters:
    ///   - key: For errors.
    ///   - fullKey: The full key in the bucket.
    ///   - range: Not empty.
    init(_ connection: S3Connection, key: String, fullKey: String, range: Range<Int64>?) {
        self.connection = connection
        self.key = key
        self.fullKey = fullKey
        self.range = range
    }

    /// Makes the first request.
    func start() async throws(StoreError) {
        let response: HTTPClientResponse
        do throws(S3Connection.Failure) { response = try await connection.send(request(range)) } catch {
            if case .fault(let fault) = error.cause, fault.status == 416 { return }
            throw error.storeError(key: key)
        }
        let span = try span(of: response, wanted: range?.lowerBound ?? 0)
        let end = min(span.upperBound, range?.upperBound ?? span.upperBound)
        state.withLock { state in
            state.position = span.lowerBound
            state.end = end
            state.isOpen = span.upperBound == Self.unknownEnd
            state.etag = response.headers.first(name: "etag")
        }
        body.take(response)
    }

    /// Passes on the next piece, not empty.
    ///
    /// - Returns: `false` at the end.
    func next(_ take: (ByteStream.Piece) -> Void) async throws(StoreError) -> Bool {
        while true {
            let (position, end) = state.withLock { ($0.position, $0.end) }
            guard position < end else {
                body.end()
                return false
            }
            let piece: ByteBuffer?
            let reason: String
            var isWhole = false
            do {
                piece = try await body.next()
                isWhole = piece == nil
                reason = "it ended early"
            } catch {
                guard !Task.isCancelled else { throw StoreError(.cancelled, key: key) }
                let fault = TransportFault(error)
                guard fault.isResumable else { throw broken(at: position, end, because: fault.sentence) }
                piece = nil
                reason = fault.sentence
            }
            guard let piece else {
                if isWhole, state.withLock({ $0.isOpen }) { return false }
                try await resume(from: position, to: end, because: reason)
                continue
            }
            // Bytes beyond the requested range are not passed on.
            let count = min(Int64(piece.readableBytes), end - position)
            guard count > 0 else { continue }
            state.withLock { state in
                state.position += count
                state.resumeCount = 0
            }
            piece.withUnsafeReadableBytes { take(.borrowed(UnsafeRawBufferPointer(rebasing: $0.prefix(Int(count))))) }
            return true
        }
    }

    // MARK: - Private

    private func request(_ range: Range<Int64>?) -> S3Request {
        var request = S3Request(method: .GET, key: fullKey)
        if let range {
            let last = range.upperBound == Self.unknownEnd ? "" : "\(range.upperBound - 1)"
            request.headers.append(("range", "bytes=\(range.lowerBound)-\(last)"))
        }
        return request
    }

    private func broken(at position: Int64, _ end: Int64, because reason: String) -> StoreError {
        connection.location.unavailable(
            key,
            "the transfer was interrupted at byte \(position)\(end == Self.unknownEnd ? "" : " of \(end)"): \(reason)")
    }

    private func resume(from position: Int64, to end: Int64, because reason: String) async throws(StoreError) {
        let broken = broken(at: position, end, because: reason)
        let mayResume = state.withLock { state in
            state.resumeCount += 1
            return state.resumeCount <= Self.resumeLimit
        }
        guard mayResume else { throw broken }
        let response: HTTPClientResponse
        do throws(S3Connection.Failure) { response = try await connection.send(request(position..<end)) } catch {
            throw error.storeError(key: key)
        }
        let span = try span(of: response, wanted: position)
        let isSame = state.withLock { state in
            guard state.etag == response.headers.first(name: "etag"), span.lowerBound == position,
                state.isOpen || span.upperBound >= end
            else { return false }
            state.end = min(end, span.upperBound)
            state.isOpen = span.upperBound == Self.unknownEnd
            return true
        }
        guard isSame else { throw broken }
        body.take(response)
    }

    /// The range of the object that a response contains.
    private func span(of response: HTTPClientResponse, wanted: Int64) throws(StoreError) -> Range<Int64> {
        let length = response.headers.first(name: "content-length").flatMap { Int64($0) }
        guard response.status == .partialContent else {
            // The whole object, which some services send for a range from its start.
            guard wanted == 0 else {
                throw StoreError(.invalid, key: key, "this store ignores ranges and sends whole objects")
            }
            if let length, length >= 0 { return 0..<length }
            // The last chunk shows that all have arrived; the end of a connection does not.
            guard response.headers[canonicalForm: "transfer-encoding"].last?.lowercased() == "chunked" else {
                throw connection.location.unavailable(key, "the answer does not say how long the object is")
            }
            return 0..<Self.unknownEnd
        }
        // `bytes 0-9/443`
        let words = response.headers.first(name: "content-range")?.dropFirst("bytes ".count).split {
            $0 == "-" || $0 == "/"
        }
        guard let words, words.count == 3, let first = Int64(words[0]), let last = Int64(words[1]), first == wanted,
            last >= first, last < Int64.max
        else { throw StoreError(.invalid, key: key, "this store does not send the requested range") }
        return first..<last + 1
    }
}
