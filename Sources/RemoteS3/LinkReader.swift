import AsyncHTTPClient
import NIOCore
import NIOHTTP1
package import Remote
import Synchronization

/// Reads what a link leads to, as any holder of the link can: without keys, and on no other server than the link's.
package struct LinkReader: Sendable {
    private let transport: HTTPTransport

    /// - Parameter variables: Of the process: used to find proxies and certificates.
    package init(variables: [String: String]) { transport = HTTPTransport(variables: variables) }

    /// What is wrong with the address in a link, in words; `nil` for one that can be tried.
    package static func fault(of url: String) -> String? { WebAddress.fault(of: url) }

    /// - Parameter key: For errors, in place of the link, which may be a secret.
    /// - Returns: The bytes as they arrive. A transfer that breaks is continued.
    /// - Throws: ``StoreError`` with `notFound` for a link that has ended or leads to nothing, `invalid` for one that
    ///   leads on to another place, `unavailable`.
    package func get(_ url: String, key: String) async throws(StoreError) -> ByteStream {
        let transfer = LinkTransfer(transport, url: url, key: key)
        try await transfer.start()
        return ByteStream(key: key) { () async throws(StoreError) in try await transfer.next() }
    }
}

/// One transfer of ``LinkReader``.
private final class LinkTransfer: Sendable {
    private struct State {
        /// The next byte.
        var position: Int64 = 0
        /// Identifies the object: another one under the same key has another.
        var etag: String?
        var resumeCount = 0
    }

    /// How often in a row a transfer is continued without receiving a byte.
    private static let resumeLimit = 3

    private let transport: HTTPTransport
    private let url: String
    private let key: String
    private let body = ResponseBody()
    private let state = Mutex(State())

    init(_ transport: HTTPTransport, url: String, key: String) {
        self.transport = transport
        self.url = url
        self.key = key
    }

    func start() async throws(StoreError) {
        let response = try await request(from: 0)
        guard response.status == .ok else { throw Self.refusal(response.status, key) }
        state.withLock { $0.etag = response.headers.first(name: "etag") }
        body.take(response)
    }

    /// The next piece, not empty; `nil` at the end.
    func next() async throws(StoreError) -> [UInt8]? {
        while true {
            do {
                guard let buffer = try await body.next() else { return nil }
                let piece = Array(buffer.readableBytesView)
                guard !piece.isEmpty else { continue }
                state.withLock { state in
                    state.position += Int64(piece.count)
                    state.resumeCount = 0
                }
                return piece
            } catch {
                guard !Task.isCancelled else { throw StoreError(.cancelled, key: key) }
                let fault = TransportFault(error)
                guard fault.isResumable else { throw StoreError(.unavailable, key: key, fault.sentence) }
                try await resume(after: fault)
            }
        }
    }

    private func resume(after fault: TransportFault) async throws(StoreError) {
        let broken = StoreError(.unavailable, key: key, "the transfer was interrupted: \(fault.sentence)")
        let mayResume = state.withLock { state in
            state.resumeCount += 1
            return state.resumeCount <= Self.resumeLimit
        }
        guard mayResume else { throw broken }
        let (position, etag) = state.withLock { ($0.position, $0.etag) }
        let response = try await request(from: position)
        let range = response.headers.first(name: "content-range")
        guard response.status == (position > 0 ? .partialContent : .ok),
            position == 0 || range?.hasPrefix("bytes \(position)-") == true,
            response.headers.first(name: "etag") == etag
        else { throw broken }
        body.take(response)
    }

    private func request(from position: Int64) async throws(StoreError) -> HTTPClientResponse {
        var message = HTTPClientRequest(url: url)
        if position > 0 { message.headers.add(name: "range", value: "bytes=\(position)-") }
        do { return try await transport.execute(message) } catch {
            throw StoreError(.unavailable, key: key, TransportFault(error).sentence)
        }
    }

    private static func refusal(_ status: HTTPResponseStatus, _ key: String) -> StoreError {
        switch status.code {
        case 401, 403, 404, 410:
            StoreError(.notFound, key: key, "this link has ended, or the file is no longer shared")
        case 300..<400:
            StoreError(.invalid, key: key, "the server wants to lead to another place, which is not followed")
        default: StoreError(.unavailable, key: key, "the server answered with the status \(status.code)")
        }
    }
}
