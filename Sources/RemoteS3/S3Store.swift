import AsyncHTTPClient
import Foundation
import NIOHTTP1
package import Remote

/// A store in a bucket of Amazon S3, or of any service that speaks its language: R2, Ceph, MinIO.
///
/// Requests that fail for a moment's reason are made again, within ``RetryPolicy``'s limits. Everything that is written goes
/// with its hashes (``PayloadHash``), so bytes that change on the way are refused. What is read is not checked here: every
/// chunk and manifest has its SHA-256, every commit its CRC, and who reads them checks.
///
/// The connections are closed with the last reference.
package final class S3Store: ObjectStore, NeighbourStore {
    private let connection: S3Connection
    private let environment: S3Environment

    private var location: S3Location { connection.location }

    /// - Parameter variables: Of the process: where credentials are looked for, as AWS's own tools do.
    package convenience init(_ location: S3Location, variables: [String: String]) {
        self.init(location, variables: variables, environment: .system)
    }

    init(_ location: S3Location, variables: [String: String], environment: S3Environment) {
        self.environment = environment
        connection = S3Connection(
            location, variables: Profile.withAbsolutePaths(variables), environment: environment)
    }

    package func get(_ key: String, range: Range<Int64>?) async throws(StoreError) -> ByteStream {
        try ObjectKey.validate(key)
        return try await download(key, fullKey: location.key(key), range: range)
    }

    private func download(
        _ key: String, fullKey: String, range: Range<Int64>?
    ) async throws(StoreError) -> ByteStream {
        // HTTP has no way to ask for no bytes at all.
        if let range, range.isEmpty {
            _ = try await state(of: key, fullKey: fullKey)
            return ByteStream(key: key) { () throws(StoreError) in nil }
        }
        let download = ObjectDownload(connection, key: key, fullKey: fullKey, range: range)
        try await download.start()
        return ByteStream(key: key) { () throws(StoreError) in try await download.next() }
    }

    package func put(_ key: String, _ body: Body) async throws(StoreError) {
        try ObjectKey.validate(key)
        let reader = try await BodyReader.open(body, key: key)
        guard reader.byteCount < MultipartUpload.byteThreshold else {
            return try await MultipartUpload(connection: connection, key: key, reader: reader).run()
        }
        _ = try await send(try await upload(key, reader), key: key)
    }

    /// Writes an object if there is none, with `If-None-Match: *`, which of all conditions is the one that services agree on.
    ///
    /// An attempt that failed may have been carried out: the answer got lost, or the service gave up on an answer of its own
    /// (Ceph says 500 to some who lost a race). The next attempt then finds the key taken, maybe by ourselves. So each call
    /// writes a nonce into the object's metadata, and a key that is taken after a failure is ours when it has our nonce. The
    /// bytes do not tell: two callers may write the same.
    package func create(_ key: String, _ body: Body) async throws(StoreError) {
        try ObjectKey.validate(key)
        let reader = try await BodyReader.open(body, key: key)
        guard reader.byteCount <= Self.singleByteLimit else {
            throw StoreError(.invalid, key: key, "only smaller objects can be created without overwriting others")
        }
        let nonce = environment.makeUUID().uuidString.lowercased()
        var request = try await upload(key, reader)
        request.headers += [("if-none-match", "*"), (Self.nonceHeader, nonce)]
        do throws(S3Connection.Failure) {
            _ = await drain(try await connection.send(request))
        } catch {
            let failure = error.storeError(key: key)
            guard failure.code == .preconditionFailed, error.attemptCount > 1 else { throw failure }
            guard try await self.nonce(of: key) == nonce else { throw failure }
        }
    }

    package func list(prefix: String, after: String?, limit: Int) async throws(StoreError) -> [ObjectListing] {
        let limit = min(limit, ObjectListing.limit)
        var found: [ObjectListing] = []
        var continuation: String?
        while found.count < limit {
            let page = try await page(
                prefix: location.key(prefix), after: after.map(location.key), limit: limit - found.count,
                continuation: continuation, key: prefix)
            for object in page.entries.map(\.object) where object.key.hasPrefix(location.prefix) {
                let key = String(object.key.dropFirst(location.prefix.count))
                // What is no key of ours, such as the empty object that consoles make of a folder, is not listed.
                do throws(StoreError) { try ObjectKey.validate(key) } catch { continue }
                found.append(ObjectListing(key: key, byteCount: object.byteCount))
            }
            guard let next = page.continuation else { break }
            continuation = next
        }
        return found
    }

    package func delete(_ key: String) async throws(StoreError) {
        try ObjectKey.validate(key)
        do throws(StoreError) {
            _ = try await send(S3Request(method: .DELETE, key: location.key(key)), key: key)
        } catch {
            guard error.code == .notFound else { throw error }
        }
    }

    package func byteCount(of key: String) async throws(StoreError) -> Int64 {
        try ObjectKey.validate(key)
        return try await state(of: key, fullKey: location.key(key)).byteCount
    }

    private func state(of key: String, fullKey: String) async throws(StoreError) -> NeighbourObject {
        let headers = try await send(S3Request(method: .HEAD, key: fullKey), key: key)
        guard let count = headers.first(name: "content-length").flatMap({ Int64($0) }) else {
            throw StoreError(.invalid, key: key, "the store does not say how long the object is")
        }
        return NeighbourObject(key: fullKey, etag: headers.first(name: "etag") ?? "", byteCount: count)
    }

    // No condition goes with these: services differ in `If-Match`, and every chunk's hash says more.

    package var neighbourStore: any NeighbourStore { self }

    package func listNeighbours(
        prefix: String, after: String?, limit: Int
    ) async throws(StoreError) -> [NeighbourListing] {
        try await page(
            prefix: prefix, after: after, limit: min(limit, ObjectListing.limit), continuation: nil, key: prefix
        ).entries
    }

    package func getNeighbour(_ key: String, range: Range<Int64>?) async throws(StoreError) -> ByteStream {
        try await download(key, fullKey: key, range: range)
    }

    package func neighbour(_ key: String) async throws(StoreError) -> NeighbourObject {
        try await state(of: key, fullKey: key)
    }

    /// S3 tells nobody of changes.
    package func changes(prefix: String) -> AsyncStream<Void>? { nil }
}

extension S3Store {
    /// The longest object that one PUT writes: 5 GiB.
    private static let singleByteLimit: Int64 = 5 << 30
    /// Bodies up to this length are sent in one piece.
    private static let smallByteLimit = UploadBody.pieceByteCount
    /// Where the nonce of a created object stands.
    private static let nonceHeader = "x-amz-meta-dewpoint-nonce"
    /// The longest answer that is read to its end: a listing of 1000 of the longest keys, escaped.
    private static let answerByteLimit = 8 << 20

    private func upload(_ key: String, _ reader: BodyReader) async throws(StoreError) -> S3Request {
        var request = S3Request(method: .PUT, key: location.key(key))
        let range = 0..<reader.byteCount
        if reader.byteCount <= Self.smallByteLimit {
            let bytes = try await reader.bytes(in: range)
            request.payload = .bytes(bytes, PayloadHash(bytes))
        } else {
            request.payload = .part(reader, range, try await PayloadHash(reader, range))
        }
        return request
    }

    /// - Returns: The headers of the answer, whose body is read and forgotten so that the connection can be used again.
    private func send(_ request: S3Request, key: String) async throws(StoreError) -> HTTPHeaders {
        do throws(S3Connection.Failure) {
            return await drain(try await connection.send(request))
        } catch {
            throw error.storeError(key: key)
        }
    }

    private func drain(_ response: HTTPClientResponse) async -> HTTPHeaders {
        // The status has said it all: whatever happens to the rest changes nothing.
        _ = try? await connection.collect(response, upTo: Self.answerByteLimit)
        return response.headers
    }

    private func nonce(of key: String) async throws(StoreError) -> String? {
        do throws(StoreError) {
            return try await send(S3Request(method: .HEAD, key: location.key(key)), key: key)
                .first(name: Self.nonceHeader)
        } catch {
            // Taken a moment ago and gone now: nobody's, as far as can be told.
            guard error.code != .notFound else {
                throw StoreError(.unavailable, key: key, "written and removed at once")
            }
            throw error
        }
    }

    /// - Parameters:
    ///   - prefix: In the bucket, as `after` is.
    ///   - key: For errors.
    private func page(
        prefix: String, after: String?, limit: Int, continuation: String?, key: String
    ) async throws(StoreError) -> ListPage {
        var request = S3Request(method: .GET, key: nil)
        request.query = [
            ("list-type", "2"), ("encoding-type", "url"), ("max-keys", "\(limit)"), ("prefix", prefix),
        ]
        if let continuation {
            request.query.append(("continuation-token", continuation))
        } else if let after {
            request.query.append(("start-after", after))
        }
        let response: HTTPClientResponse
        do throws(S3Connection.Failure) { response = try await connection.send(request) } catch {
            throw error.storeError(key: key)
        }
        let bytes: [UInt8]
        do throws(TransportFault) { bytes = try await connection.collect(response, upTo: Self.answerByteLimit) } catch {
            throw StoreError(.unavailable, key: key, "the listing broke off: \(error.sentence)")
        }
        return try ListPage(bytes, key: key)
    }
}

extension S3Store {
    /// The full keys below the prefix of which parts lie in the bucket without an object. For tests.
    func unfinishedUploads() async throws(StoreError) -> [String] {
        let request = S3Request(method: .GET, key: nil, query: [("uploads", ""), ("prefix", location.prefix)])
        let response: HTTPClientResponse
        do throws(S3Connection.Failure) { response = try await connection.send(request) } catch {
            throw error.storeError(key: "")
        }
        do throws(TransportFault) {
            let document = S3Document.parse(try await connection.collect(response, upTo: Self.answerByteLimit))
            return document?.children.filter { $0.name == "Upload" }.compactMap { $0.text("Key") } ?? []
        } catch {
            throw StoreError(.unavailable, key: "", error.sentence)
        }
    }
}
