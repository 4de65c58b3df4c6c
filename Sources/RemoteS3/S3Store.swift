import AsyncHTTPClient
import Foundation
import Model
import NIOHTTP1
package import Remote

/// A store in a bucket of Amazon S3, or of a compatible service: R2, Ceph, MinIO.
///
/// Requests with transient failures are retried, within ``RetryPolicy``'s limits. All data is written with its hashes
/// (``PayloadHash``), so bytes that change in transit are refused. Data that is read is not verified here: every chunk
/// and manifest has its SHA-256, every commit its CRC, and the reader verifies them.
///
/// The connections are closed with the last reference.
package final class S3Store: ObjectStore {
    private let connection: S3Connection
    private let environment: S3Environment

    private var location: S3Location { connection.location }

    /// - Parameters:
    ///   - variables: Of the process: used to find credentials, proxies and certificates, like AWS's own tools.
    ///   - didCorrectClock: Called when the store's clock is used from now on, with how much it is ahead of this
    ///     machine's.
    ///   - willRetry: Called before a request is repeated.
    package convenience init(
        _ location: S3Location, variables: [String: String],
        didCorrectClock: @escaping @Sendable (Duration) -> Void = { _ in },
        willRetry: @escaping @Sendable () -> Void = {}
    ) {
        var environment = S3Environment.system
        environment.willRetry = willRetry
        environment.didCorrectClock = didCorrectClock
        self.init(location, variables: variables, environment: environment)
    }

    init(_ location: S3Location, variables: [String: String], environment: S3Environment) {
        self.environment = environment
        connection = S3Connection(
            location, variables: Profile.withAbsolutePaths(variables), environment: environment)
    }

    /// The key in the bucket. Objects beside the container are read without conditions: services differ in `If-Match`,
    /// and every chunk's hash is stronger.
    private func fullKey(_ address: ObjectAddress) throws(StoreError) -> String {
        switch address {
        case .neighbour(let key): return key
        case .container(let key):
            try ObjectKey.validate(key)
            return location.key(key)
        }
    }

    package func get(_ address: ObjectAddress, range: Range<Int64>?) async throws(StoreError) -> ByteStream {
        let (key, fullKey) = (address.key, try fullKey(address))
        // HTTP cannot request an empty range.
        if let range, range.isEmpty {
            _ = try await head(of: key, fullKey: fullKey)
            return ByteStream(key: key) { () throws(StoreError) in nil }
        }
        let download = ObjectDownload(connection, key: key, fullKey: fullKey, range: range)
        try await download.start()
        return ByteStream(key: key) { (take) async throws(StoreError) in try await download.next(take) }
    }

    package func put(_ key: String, _ body: Body) async throws(StoreError) {
        try ObjectKey.validate(key)
        let reader = try await BodyReader.open(body, key: key)
        guard reader.byteCount < MultipartUpload.byteThreshold else {
            return try await MultipartUpload(connection: connection, key: key, reader: reader).run()
        }
        let request = try await upload(key, reader)
        guard AnswerOrigin(try await send(request, key: key)) != .store else { return }
        try await confirm(request, key: key)
    }

    /// Writes an object if there is none, with `If-None-Match: *`, the one condition that services agree on.
    ///
    /// A failed attempt may have been executed: the response was lost, or the service failed after the fact (Ceph
    /// responds with 500 to some losers of a race). The next attempt then finds the key taken, maybe by ourselves. So
    /// each call writes a nonce into the object's metadata, and a key that is taken after a failure is ours when it has
    /// our nonce. The bytes do not show it: two callers may write the same. A success that may have been reported by
    /// somebody else than the store is confirmed in the same way.
    package func create(_ key: String, _ body: Body) async throws(StoreError) {
        try ObjectKey.validate(key)
        let reader = try await BodyReader.open(body, key: key)
        guard reader.byteCount <= Self.singleByteLimit else {
            throw StoreError(.invalid, key: key, "this object is too large for a create-only write")
        }
        let nonce = environment.makeUUID().uuidString.lowercased()
        var request = try await upload(key, reader)
        request.headers += [("if-none-match", "*"), (ObjectHead.nonceHeader, nonce)]
        let failure: StoreError
        do throws(S3Connection.Failure) {
            let response = try await connection.send(request)
            await connection.drain(response)
            if AnswerOrigin(response.headers) == .store { return }
            failure = StoreError(.preconditionFailed, key: key)
        } catch {
            failure = error.storeError(key: key)
            guard failure.code == .preconditionFailed, error.attemptCount > 1 else { throw failure }
        }
        guard try await written(key).nonce == nonce else { throw failure }
    }

    package func list(_ prefix: ObjectAddress, after: String?, limit: Int) async throws(StoreError) -> [ObjectListing] {
        let limit = min(limit, ObjectListing.limit)
        guard case .container(let prefix) = prefix else {
            return try await page(
                prefix: prefix.key, after: after, limit: limit, continuation: nil, key: prefix.key
            ).entries
        }
        var found: [ObjectListing] = []
        var continuation: String?
        while found.count < limit {
            let page = try await page(
                prefix: location.key(prefix), after: after.map(location.key), limit: limit - found.count,
                continuation: continuation, key: prefix)
            for object in page.entries where object.key.hasBytePrefix(location.prefix) {
                let key = object.key.droppingBytes(location.prefix.utf8.count)
                // Keys that are not ours are not listed, such as the empty object that consoles create for a folder.
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
            let headers = try await send(S3Request(method: .DELETE, key: location.key(key)), key: key)
            if AnswerOrigin(headers) == .store { return }
            _ = try await head(of: key, fullKey: location.key(key))
        } catch {
            guard error.code == .notFound else { throw error }
            return
        }
        throw unconfirmed(key)
    }

    package func head(_ address: ObjectAddress) async throws(StoreError) -> ObjectListing {
        let head = try await head(of: address.key, fullKey: try fullKey(address))
        guard case .neighbour(let key) = address else {
            return ObjectListing(key: address.key, byteCount: head.byteCount)
        }
        return ObjectListing(key: key, byteCount: head.byteCount, etag: head.etag)
    }

    private func head(of key: String, fullKey: String) async throws(StoreError) -> ObjectHead {
        try await ObjectHead.ask(connection, fullKey: fullKey, key: key)
    }

    package func assemble(_ key: String, from parts: [ObjectPart]) async throws(StoreError) {
        try ObjectKey.validate(key)
        precondition(1...Int(MultipartUpload.partLimit) ~= parts.count, "an object has 1 to 10,000 parts")
        try await MultipartUpload(connection: connection, key: key, parts: parts).run()
    }

    /// A presigned link.
    package func link(to key: String, for request: ObjectLinkRequest) async throws(StoreError) -> ObjectLink {
        try ObjectKey.validate(key)
        let lifetime = min(max(request.lifetime, .seconds(1)), ObjectLinkRequest.lifetimeLimit).components.seconds
        let query =
            switch request.use {
            case .file(let name): [("response-content-disposition", ContentDisposition.attachment(name))]
            case .page: [("response-content-type", "text/html; charset=utf-8")]
            case .bytes: [(String, String)]()
            }
        let link = try await connection.link(to: location.key(key), query: query, lasting: lifetime)
        let end = min(link.time.addingTimeInterval(TimeInterval(lifetime)), link.credentialsEnd ?? .distantFuture)
        return ObjectLink(
            url: link.url, expires: Timestamp(seconds: Int64(end.timeIntervalSince1970.rounded(.down)), nanoseconds: 0))
    }

    /// S3 does not report changes.
    package func changes(prefix: String) -> AsyncStream<Void>? { nil }
}

extension S3Store {
    /// The longest object that one PUT writes: 5 GiB.
    private static let singleByteLimit: Int64 = 5 << 30
    /// Bodies up to this length are sent in one piece.
    private static let smallByteLimit = UploadBody.pieceByteCount
    /// The longest response that is read completely: a listing of 1000 of the longest keys, escaped.
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

    /// - Returns: The headers of the response, whose body is read and discarded so that the connection can be used
    ///   again.
    private func send(_ request: S3Request, key: String) async throws(StoreError) -> HTTPHeaders {
        do throws(S3Connection.Failure) {
            let response = try await connection.send(request)
            await connection.drain(response)
            return response.headers
        } catch {
            throw error.storeError(key: key)
        }
    }

    /// An object that was written a moment ago, as it was answered.
    private func written(_ key: String) async throws(StoreError) -> ObjectHead {
        do throws(StoreError) {
            return try await head(of: key, fullKey: location.key(key))
        } catch {
            // Taken a moment ago and missing now: its writer is unknown, or the answer was not the store's.
            throw error.code == .notFound ? unconfirmed(key) : error
        }
    }

    /// Confirms that an object was overwritten: it has the length of what was sent, and its hash, which is its ETag.
    private func confirm(_ request: S3Request, key: String) async throws(StoreError) {
        let found = try await written(key)
        let hash = try await PayloadHash.md5(of: request.payload) ?? ""
        let etag = Hex.bytes(found.etag.trimmingCharacters(in: ["\""])).map { Data($0).base64EncodedString() }
        guard found.byteCount == request.payload.byteCount, etag == hash else { throw unconfirmed(key) }
    }

    private func unconfirmed(_ key: String) -> StoreError {
        location.unavailable(
            key,
            "the request was answered as if it had succeeded, but the store shows no trace of it: "
                + "this network may require a login, or a proxy is between")
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
            throw location.unavailable(key, "the listing was interrupted: \(error.sentence)")
        }
        do throws(StoreError) { return try ListPage(bytes, key: key) } catch {
            throw location.unavailable(key, error.detail)
        }
    }
}

extension S3Store {
    /// The full keys below the prefix that have parts of unfinished uploads. For tests.
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
            throw location.unavailable("", error.sentence)
        }
    }
}
