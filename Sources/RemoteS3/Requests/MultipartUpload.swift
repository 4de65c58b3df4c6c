import AsyncHTTPClient
import Crypto
import Foundation
import NIOHTTP1
import Remote

/// Writes an object in parts, several at a time: a long body, so that a part that fails costs little, or parts that the
/// store copies from other objects.
///
///     POST ?uploads ──▶ id ──▶ PUT ?partNumber&uploadId … ──▶ POST ?uploadId with the list      the object exists
///                                        └─ failure ──▶ DELETE ?uploadId                        nothing is left
///
/// Never used for create-only writes: services ignore conditions when they assemble the parts.
struct MultipartUpload: Sendable {
    let connection: S3Connection
    let key: String
    private let sources: [Source]

    /// Where the bytes of a part come from.
    private enum Source: Sendable {
        case body(BodyReader, Range<Int64>)
        case object(ObjectPart)
    }

    init(connection: S3Connection, key: String, reader: BodyReader) {
        self.connection = connection
        self.key = key
        sources = Self.parts(byteCount: reader.byteCount).map { .body(reader, $0) }
    }

    /// - Parameter parts: At most ``partLimit``.
    init(connection: S3Connection, key: String, parts: [ObjectPart]) {
        self.connection = connection
        self.key = key
        sources = parts.map(Source.object)
    }

    /// The length from which on a body is sent in parts: 64 MiB.
    static let byteThreshold: Int64 = 64 << 20
    /// The usual length of a part: 16 MiB.
    static let partByteCount: Int64 = 16 << 20
    /// The maximum number of parts of an object.
    static let partLimit: Int64 = 10_000
    /// How many parts are sent at a time.
    static let width = 3
    /// The longest response: 64 KiB.
    private static let answerByteLimit = 64 << 10

    /// A part that was uploaded.
    private struct Part: Sendable {
        let number: Int
        let etag: String
    }

    func run() async throws(StoreError) {
        let id = try await begin()
        do throws(StoreError) {
            try await complete(id, try await sendParts(id))
        } catch {
            await abort(id)
            throw error
        }
    }

    /// The part lengths of a body: equal except for the last, as few as are allowed.
    static func parts(byteCount: Int64) -> [Range<Int64>] {
        let mebibyte: Int64 = 1 << 20
        let needed = (byteCount + partLimit - 1) / partLimit
        let length = max(partByteCount, (needed + mebibyte - 1) / mebibyte * mebibyte)
        return stride(from: 0, to: byteCount, by: Int(length)).map { $0..<min(byteCount, $0 + length) }
    }

    // MARK: - Private

    private var fullKey: String { connection.location.key(key) }

    private func begin() async throws(StoreError) -> String {
        let document = try await ask(S3Request(method: .POST, key: fullKey, query: [("uploads", "")]))
        guard let id = document.text("UploadId") else {
            throw connection.location.unavailable(key, "the store did not start the upload")
        }
        return id
    }

    private func sendParts(_ id: String) async throws(StoreError) -> [Part] {
        let result = await withTaskGroup(of: Result<Part, StoreError>.self) { group in
            var waiting = sources.enumerated().makeIterator()
            func start() {
                guard let (index, source) = waiting.next() else { return }
                group.addTask { await outcome(id, number: index + 1, source) }
            }
            for _ in 0..<Self.width { start() }
            var parts: [Part] = []
            while let outcome = await group.next() {
                switch outcome {
                case .success(let part): parts.append(part)
                case .failure(let error):
                    group.cancelAll()
                    return Result<[Part], StoreError>.failure(error)
                }
                start()
            }
            return .success(parts.sorted { $0.number < $1.number })
        }
        return try result.get()
    }

    private func outcome(_ id: String, number: Int, _ source: Source) async -> Result<Part, StoreError> {
        do throws(StoreError) { return .success(try await write(id, number: number, source)) } catch {
            return .failure(error)
        }
    }

    private func write(_ id: String, number: Int, _ source: Source) async throws(StoreError) -> Part {
        switch source {
        case .body(let reader, let range):
            return try await send(id, number: number, .part(reader, range, try await PayloadHash(reader, range)))
        case .object(let part):
            if let origin = part.source {
                do throws(StoreError) {
                    return try await copy(id, number: number, origin)
                } catch  where error.code == .invalid {
                    // Not every service copies ranges: then the bytes are sent.
                }
            }
            let bytes = try await part.bytes()
            return try await send(id, number: number, .bytes(bytes, PayloadHash(bytes)))
        }
    }

    private func request(_ id: String, number: Int) -> S3Request {
        S3Request(method: .PUT, key: fullKey, query: [("partNumber", "\(number)"), ("uploadId", id)])
    }

    private func copy(_ id: String, number: Int, _ source: ObjectPart.Source) async throws(StoreError) -> Part {
        var request = request(id, number: number)
        let range = source.range
        let path = "/\(connection.location.bucket)/\(connection.location.key(source.key))"
        request.headers += [
            ("x-amz-copy-source", PercentEncoding.encode(path, keepingSlashes: true)),
            ("x-amz-copy-source-range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)"),
        ]
        // The store keeps the connection alive while it copies.
        request.isAnsweredInBody = true
        let document = try await ask(request)
        guard document.name == "CopyPartResult", let etag = document.text("ETag") else {
            throw connection.location.unavailable(
                key, "the store could not copy: \(document.text("Message") ?? document.name)")
        }
        return Part(number: number, etag: etag)
    }

    private func send(_ id: String, number: Int, _ payload: S3Request.Payload) async throws(StoreError) -> Part {
        var request = request(id, number: number)
        request.payload = payload
        let response: HTTPClientResponse
        do throws(S3Connection.Failure) { response = try await connection.send(request) } catch {
            throw error.storeError(key: key)
        }
        await connection.drain(response)
        guard AnswerOrigin(response.headers) == .store, let etag = response.headers.first(name: "etag") else {
            throw connection.location.unavailable(key, "the store accepted a part without returning its ETag")
        }
        return Part(number: number, etag: etag)
    }

    private func complete(_ id: String, _ parts: [Part]) async throws(StoreError) {
        var request = S3Request(method: .POST, key: fullKey, query: [("uploadId", id)])
        let list = parts.map {
            "<Part><PartNumber>\($0.number)</PartNumber><ETag>\(Self.escaped($0.etag))</ETag></Part>"
        }
        request.setBody("<CompleteMultipartUpload>\(list.joined())</CompleteMultipartUpload>")
        request.isAnsweredInBody = true
        do throws(StoreError) {
            let document = try await ask(request)
            guard document.name == "CompleteMultipartUploadResult" else {
                throw connection.location.unavailable(
                    key, "the store could not assemble the parts: \(document.text("Message") ?? document.name)")
            }
        } catch {
            // The response may have been lost: then the upload is complete, and its id no longer known.
            guard await isComplete(parts) else {
                throw error.code == .notFound
                    ? connection.location.unavailable(key, "the store has lost the uploaded parts") : error
            }
        }
    }

    /// Whether the object consists of exactly these parts: its ETag is the MD5 of theirs, which are MD5s in hex, and
    /// their number.
    private func isComplete(_ parts: [Part]) async -> Bool {
        let hashes = parts.flatMap { part in Hex.bytes(part.etag.trimmingCharacters(in: ["\""])) ?? [] }
        let tag = Hex.text(Insecure.MD5.hash(data: hashes)) + "-\(parts.count)"
        let found = try? await ObjectHead.ask(connection, fullKey: fullKey, key: key)
        return found?.etag.trimmingCharacters(in: ["\""]) == tag
    }

    /// Releases the space of the parts. In a task of its own, so that it also runs after a cancellation. If it fails,
    /// the bucket's rule for unfinished uploads does it later.
    private func abort(_ id: String) async {
        let request = S3Request(method: .DELETE, key: fullKey, query: [("uploadId", id)])
        await Task { [connection] in _ = try? await connection.send(request) }.value
    }

    private func ask(_ request: S3Request) async throws(StoreError) -> S3Document {
        let response: HTTPClientResponse
        do throws(S3Connection.Failure) { response = try await connection.send(request) } catch {
            throw error.storeError(key: key)
        }
        let bytes: [UInt8]
        do throws(TransportFault) { bytes = try await connection.collect(response, upTo: Self.answerByteLimit) } catch {
            throw connection.location.unavailable(key, "the response was interrupted: \(error.sentence)")
        }
        guard let document = S3Document.parse(bytes) else {
            throw connection.location.unavailable(key, "the store's response could not be parsed")
        }
        return document
    }

    private static func escaped(_ text: String) -> String {
        text.replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;")
    }
}
