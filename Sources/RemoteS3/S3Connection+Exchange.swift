import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import Remote
import Synchronization

/// One attempt: signs a request, exchanges it for a response, and finds out whose response it is.
extension S3Connection {
    /// How much of the body of an error response, or of one that says how the work ended, is read: 64 KiB.
    private static let faultByteLimit = 64 << 10

    struct Attempt {
        let result: Result<HTTPClientResponse, AttemptError>
        /// Of the signature.
        let time: Date
        let context: S3Context
    }

    struct AttemptError: Error {
        let cause: Failure.Cause
    }

    func context(
        _ credentials: Credentials?, _ region: String, _ time: Date, _ method: String
    ) -> S3Context {
        S3Context(
            location: location, region: region, credentials: credentials, time: time.formatted(.iso8601), method: method
        )
    }

    func attempt(_ request: S3Request) async -> Attempt {
        let region = region.withLock { $0 }
        let now = clock.now
        let method = request.method.rawValue
        let credentials: Credentials
        do throws(StoreError) { credentials = try await chain.credentials() } catch {
            let cause: Failure.Cause = error.code == .cancelled ? .cancelled : .local(error)
            return Attempt(
                result: .failure(AttemptError(cause: cause)), time: now, context: context(nil, region, now, method))
        }
        let signature = Signature(credentials: credentials, region: region, time: now)
        let begin = environment.uptime()
        let result: Result<HTTPClientResponse, AttemptError>
        do throws(AttemptError) {
            result = .success(try await exchange(request, signature))
            throttle.noteAnswered(begun: begin)
        } catch {
            note(error.cause, begun: begin)
            result = .failure(error)
        }
        return Attempt(result: result, time: now, context: context(credentials, region, now, method))
    }

    private func note(_ cause: Failure.Cause, begun begin: Duration) {
        guard case .fault(let fault) = cause else { return }
        if fault.isThrottling {
            throttle.noteThrottled(begun: begin, requested: fault.retryAfter)
        } else if fault.isAnswer {
            throttle.noteAnswered(begun: begin)
        }
    }

    private func exchange(_ request: S3Request, _ signature: Signature) async throws(AttemptError) -> HTTPClientResponse
    {
        do {
            let md5 = wantsMD5.load(ordering: .relaxed) ? try await PayloadHash.md5(of: request.payload) : nil
            let message = message(request, signature, md5: md5)
            let response = try await transport.execute(body(of: request.payload, in: message))
            guard 200..<300 ~= response.status.code else {
                throw AttemptError(cause: try await fault(request, response))
            }
            return try await accepted(response, of: request)
        } catch let error as AttemptError {
            throw error
        } catch let error as StoreError {
            throw AttemptError(cause: .local(error))
        } catch {
            throw AttemptError(cause: Task.isCancelled ? .cancelled : .transport(TransportFault(error)))
        }
    }

    /// An error, if the store sent it: whoever else answers for it knows nothing of objects and permissions.
    private func fault(_ request: S3Request, _ response: HTTPClientResponse) async throws -> Failure.Cause {
        let body = request.method == .HEAD ? [] : try await collect(response, upTo: Self.faultByteLimit)
        let fault = S3Fault(status: response.status.code, headers: response.headers, body: body)
        // A gateway in front of a store passes its failures on without a mark.
        let mayBeUnmarked = fault.isTransient && AnswerOrigin(response.headers) != .page
        return fault.isMarked || mayBeUnmarked ? .fault(fault) : .foreign(ForeignAnswer(status: fault.status))
    }

    /// - Returns: The response, if it can be the store's, and does not contain an error.
    private func accepted(
        _ response: HTTPClientResponse, of request: S3Request
    ) async throws -> HTTPClientResponse {
        let origin = AnswerOrigin(response.headers)
        if origin != .store, request.isAnswerMarked || (origin == .page && request.method == .GET) {
            throw AttemptError(cause: .foreign(ForeignAnswer(status: response.status.code)))
        }
        guard request.isAnsweredInBody else { return response }
        let body = try await collect(response, upTo: Self.faultByteLimit)
        if let fault = S3Fault(within: body, headers: response.headers) { throw AttemptError(cause: .fault(fault)) }
        var read = response
        read.body = .bytes(ByteBuffer(bytes: body))
        return read
    }

    private func message(_ request: S3Request, _ signature: Signature, md5: String?) -> HTTPClientRequest {
        let address = S3Address(location, region: signature.region, key: request.key)
        var headers = request.headers + [("host", address.authority)]
        if let md5 { headers.append(("content-md5", md5)) }
        let signed = Signature.Request(
            method: request.method.rawValue, path: address.path, query: request.query, headers: headers,
            payloadHash: request.payload.hash.sha256)
        let query = request.query.isEmpty ? "" : "?" + Signature.queryText(request.query)
        var message = HTTPClientRequest(
            url: address.origin + PercentEncoding.encode(address.path, keepingSlashes: true) + query)
        message.method = request.method
        for (name, value) in headers + signature.headers(for: signed) { message.headers.add(name: name, value: value) }
        message.headers.add(name: "user-agent", value: "dewpoint")
        return message
    }

    private func body(of payload: S3Request.Payload, in message: HTTPClientRequest) -> HTTPClientRequest {
        var message = message
        switch payload {
        case .none: break
        case .bytes(let bytes, _): message.body = .bytes(ByteBuffer(bytes: bytes))
        case .part(let reader, let range, _):
            message.body = .stream(
                UploadBody(reader: reader, range: range), length: .known(range.upperBound - range.lowerBound))
        }
        return message
    }
}
