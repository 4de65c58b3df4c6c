import AsyncHTTPClient
import NIOHTTP1
import Remote

/// What the store says of an object without its bytes.
struct ObjectHead: Sendable {
    let byteCount: Int64
    let etag: String
    /// The nonce in its metadata, if it was created with one.
    let nonce: String?

    /// The header with the nonce of a created object.
    static let nonceHeader = "x-amz-meta-dewpoint-nonce"
    /// How many bytes of an object are counted when nothing states its length: 8 MiB.
    private static let countLimit = 8 << 20

    /// Asks by HEAD; and by a GET of the first byte where the answer to that has no length, as through a proxy that
    /// sends everything in chunks, or denies that there is an object but does not show whose answer it is: an error
    /// without a body has no other mark than its headers.
    ///
    /// - Parameter key: For errors.
    /// - Throws: ``StoreError`` with `notFound`, only if the store itself says so.
    static func ask(
        _ connection: S3Connection, fullKey: String, key: String
    ) async throws(StoreError) -> ObjectHead {
        do throws(S3Connection.Failure) {
            let response = try await connection.send(S3Request(method: .HEAD, key: fullKey))
            await connection.drain(response)
            if let length = response.headers.first(name: "content-length").flatMap({ Int64($0) }), length >= 0 {
                return ObjectHead(byteCount: length, response.headers)
            }
        } catch {
            guard case .foreign(let answer) = error.cause, answer.status >= 400 else {
                throw error.storeError(key: key)
            }
        }
        return try await askByGet(connection, fullKey: fullKey, key: key)
    }

    private init(byteCount: Int64, _ headers: HTTPHeaders) {
        self.byteCount = byteCount
        etag = headers.first(name: "etag") ?? ""
        nonce = headers.first(name: Self.nonceHeader)
    }

    private static func askByGet(
        _ connection: S3Connection, fullKey: String, key: String
    ) async throws(StoreError) -> ObjectHead {
        var request = S3Request(method: .GET, key: fullKey)
        request.headers.append(("range", "bytes=0-0"))
        let response: HTTPClientResponse
        do throws(S3Connection.Failure) { response = try await connection.send(request) } catch {
            // There is no first byte.
            if case .fault(let fault) = error.cause, fault.status == 416 { return ObjectHead(byteCount: 0, [:]) }
            throw error.storeError(key: key)
        }
        let counted = try? await connection.collect(response, upTo: Self.countLimit).count
        var length: Int64?
        if response.status == .partialContent {
            // `bytes 0-0/443`
            let total = response.headers.first(name: "content-range")?.split(separator: "/").last
            length = total.flatMap { Int64($0) }
        } else {
            length = response.headers.first(name: "content-length").flatMap { Int64($0) } ?? counted.map(Int64.init)
        }
        guard let length, length >= 0 else {
            throw connection.location.unavailable(key, "the answer does not say how long the object is")
        }
        return ObjectHead(byteCount: length, response.headers)
    }
}
