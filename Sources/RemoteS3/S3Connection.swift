import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import Remote
import Synchronization

/// Sends requests to one bucket: adds the address and the signature, and retries.
///
///     request ── attempt ──▶ response with a status of success
///                        ──▶ the bucket is in another region         once: use that region
///                        ──▶ these credentials are rejected          once: look for others
///                        ──▶ the bucket requires an MD5 too          once, and from then on: with one
///                        ──▶ transient                               RetryPolicy
///                        ──▶ anything else                           Failure
final class S3Connection: Sendable {
    let location: S3Location
    /// Each has its own connections; requests are distributed in turns.
    private let clients: [HTTPClient]
    private let turns = Atomic<Int>(0)
    private let chain: CredentialChain
    private let environment: S3Environment
    /// The region to sign for: the location's until the store names another.
    private let region: Mutex<String>
    /// Whether the bucket has required `Content-MD5`.
    private let wantsMD5 = Atomic<Bool>(false)

    /// The maximum number of connections; further requests wait for one.
    private static let connectionLimit = 32
    /// The number of clients. The log is polled with one small request each second; with one client, which reuses the
    /// most recent connection, that would keep only one connection open, and a read at that instant would have to wait
    /// for it or for a handshake. In turns two are kept open.
    private static let clientCount = 2
    /// How long an idle connection is kept: 15 s, less than services keep them.
    private static let idleLimit = TimeAmount.seconds(15)
    /// The maximum size of one read from a connection: 256 KiB.
    private static let receiveByteCount = 256 << 10
    /// How much of the body of an error response is read: 64 KiB.
    private static let faultByteLimit = 64 << 10

    /// - Parameter variables: Of the process: used to find credentials.
    init(_ location: S3Location, variables: [String: String], environment: S3Environment) {
        self.location = location
        self.environment = environment
        region = Mutex(location.region)
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        configuration.httpVersion = .http1Only
        configuration.decompression = .disabled
        configuration.timeout = .init(connect: .init(environment.limits.connect), read: .init(environment.limits.read))
        configuration.connectionPool = .init(
            idleTimeout: Self.idleLimit,
            concurrentHTTP1ConnectionsPerHostSoftLimit: Self.connectionLimit / Self.clientCount)
        // Refused connections are retried by us, with known limits.
        configuration.connectionPool.retryConnectionEstablishment = false
        // Data is read in large pieces, since each passes through many layers. This is called a debug initializer, but
        // it is the only way to a channel's options.
        configuration.http1_1ConnectionDebugInitializer = { channel in
            channel.setOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: Self.receiveByteCount))
        }
        clients = (0..<Self.clientCount).map { [configuration] _ in
            HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        }
        chain = CredentialChain(environment: variables, http: clients[0], now: environment.now)
    }

    /// Closes the connections. Running requests hold a reference, so none is running.
    deinit { for client in clients { client.shutdown { _ in } } }

    /// Why a request did not succeed.
    struct Failure: Error, Sendable {
        enum Cause: Sendable {
            case fault(S3Fault)
            case transport(TransportFault)
            /// An error of the credentials or of the body to send.
            case local(StoreError)
            case cancelled
        }

        let cause: Cause
        /// The number of attempts. After the first one the request may have been executed unnoticed.
        let attemptCount: Int
        let context: S3Context

        func storeError(key: String) -> StoreError {
            switch cause {
            case .fault(let fault): fault.storeError(key: key, context)
            case .transport(let fault): fault.storeError(key: key, context)
            case .local(let error): StoreError(error.code, key: error.code == .invalid ? error.key : key, error.detail)
            case .cancelled: StoreError(.cancelled, key: key)
            }
        }
    }

    /// - Returns: A response with a status of success, whose body is not read yet.
    func send(_ request: S3Request) async throws(Failure) -> HTTPClientResponse {
        let start = environment.uptime()
        var attemptCount = 0
        var hasMoved = false
        var hasRenewed = false
        var hasHashed = false
        while true {
            attemptCount += 1
            let attempt = await attempt(request)
            let cause: Failure.Cause
            switch attempt.result {
            case .success(let response): return response
            case .failure(let found): cause = found.cause
            }
            if case .fault(let fault) = cause {
                if !hasMoved, move(fault) {
                    hasMoved = true
                    continue
                }
                if !hasHashed, fault.asksForMD5 {
                    hasHashed = true
                    wantsMD5.store(true, ordering: .relaxed)
                    continue
                }
                if !hasRenewed, fault.isAboutCredentials, let old = attempt.context.credentials {
                    hasRenewed = true
                    await chain.reject(old)
                    if let new = try? await chain.credentials(), new != old { continue }
                }
            }
            guard
                let delay = delay(cause, attemptCount, elapsed: environment.uptime() - start)
            else { throw Failure(cause: cause, attemptCount: attemptCount, context: attempt.context) }
            environment.willRetry()
            do {
                try await environment.sleep(delay)
            } catch {
                throw Failure(cause: .cancelled, attemptCount: attemptCount, context: attempt.context)
            }
        }
    }

    /// A signed link to an object, which anyone can GET for a time.
    ///
    /// - Returns: The link, and when the credentials that signed it end, `nil` for never: it ends with them.
    func link(
        to key: String, query: [(name: String, value: String)], lasting seconds: Int64
    ) async throws(StoreError) -> (url: String, time: Date, credentialsEnd: Date?) {
        let region = region.withLock { $0 }
        let credentials = try await chain.credentials()
        let now = environment.now()
        let address = S3Address(location, region: region, key: key)
        let text = Signature(credentials: credentials, region: region, time: now).query(
            for: .init(
                method: "GET", path: address.path, query: query, headers: [("host", address.authority)],
                payloadHash: ""),
            lasting: seconds)
        let path = PercentEncoding.encode(address.path, keepingSlashes: true)
        return ("\(address.origin)\(path)?\(text)", now, credentials.expiration)
    }

    /// The body of an error or of a small response.
    func collect(_ response: HTTPClientResponse, upTo limit: Int) async throws(TransportFault) -> [UInt8] {
        do {
            return Array(try await response.body.collect(upTo: limit).readableBytesView)
        } catch {
            throw TransportFault(error)
        }
    }

    // MARK: - Private

    private struct Attempt {
        let result: Result<HTTPClientResponse, AttemptError>
        let context: S3Context
    }

    private struct AttemptError: Error {
        let cause: Failure.Cause
    }

    private func delay(_ cause: Failure.Cause, _ attemptCount: Int, elapsed: Duration) -> Duration? {
        let retryAfter: Duration?
        switch cause {
        case .fault(let fault) where fault.isTransient: retryAfter = fault.retryAfter
        case .transport(let fault) where fault.isTransient: retryAfter = nil
        case .fault, .transport, .local, .cancelled: return nil
        }
        return RetryPolicy.delay(
            afterAttempts: attemptCount, elapsed: elapsed, retryAfter: retryAfter, chance: environment.chance())
    }

    /// Switches to the region that the store named.
    private func move(_ fault: S3Fault) -> Bool {
        region.withLock { region in
            guard let other = fault.otherRegion(than: region) else { return false }
            region = other
            return true
        }
    }

    private func attempt(_ request: S3Request) async -> Attempt {
        let region = region.withLock { $0 }
        let now = environment.now()
        func context(_ credentials: Credentials?) -> S3Context {
            S3Context(
                location: location, region: region, credentials: credentials,
                time: now.formatted(.iso8601), method: request.method.rawValue)
        }
        let credentials: Credentials
        do throws(StoreError) { credentials = try await chain.credentials() } catch {
            let cause: Failure.Cause = error.code == .cancelled ? .cancelled : .local(error)
            return Attempt(result: .failure(AttemptError(cause: cause)), context: context(nil))
        }
        let signature = Signature(credentials: credentials, region: region, time: now)
        let result: Result<HTTPClientResponse, AttemptError>
        do throws(AttemptError) { result = .success(try await exchange(request, signature)) } catch {
            result = .failure(error)
        }
        return Attempt(result: result, context: context(credentials))
    }

    private func exchange(_ request: S3Request, _ signature: Signature) async throws(AttemptError) -> HTTPClientResponse
    {
        do {
            let md5 = wantsMD5.load(ordering: .relaxed) ? try await PayloadHash.md5(of: request.payload) : nil
            let message = message(request, signature, md5: md5)
            let response = try await transfer(message, request.payload)
            guard !(200..<300 ~= response.status.code) else { return response }
            let body = request.method == .HEAD ? [] : try await collect(response, upTo: Self.faultByteLimit)
            throw AttemptError(
                cause: .fault(S3Fault(status: response.status.code, headers: response.headers, body: body)))
        } catch let error as AttemptError {
            throw error
        } catch let error as StoreError {
            throw AttemptError(cause: .local(error))
        } catch {
            throw AttemptError(cause: Task.isCancelled ? .cancelled : .transport(TransportFault(error)))
        }
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

    /// Sends the request, and waits for the head of the response.
    private func transfer(_ message: HTTPClientRequest, _ payload: S3Request.Payload) async throws -> HTTPClientResponse
    {
        var message = message
        let http = clients[turns.wrappingAdd(1, ordering: .relaxed).oldValue % clients.count]
        switch payload {
        case .none: return try await http.execute(message, deadline: .distantFuture)
        case .bytes(let bytes, _):
            message.body = .bytes(ByteBuffer(bytes: bytes))
            return try await http.execute(message, deadline: .distantFuture)
        case .part(let reader, let range, _):
            let progress = UploadBody.Progress(uptime: environment.uptime)
            message.body = .stream(
                UploadBody(reader: reader, range: range, progress: progress),
                length: .known(range.upperBound - range.lowerBound))
            return try await watched(progress) { [message] in
                try await http.execute(message, deadline: .distantFuture)
            }
        }
    }

    /// Ends a stalled transfer: the client's own limits do not detect a peer that stops reading.
    private func watched(
        _ progress: UploadBody.Progress, _ body: @escaping @Sendable () async throws -> HTTPClientResponse
    ) async throws -> HTTPClientResponse {
        // The response may take as long again as the last bytes.
        let limit = environment.limits.send + environment.limits.read
        return try await withThrowingTaskGroup(of: HTTPClientResponse.self) { group in
            defer { group.cancelAll() }
            group.addTask { try await body() }
            group.addTask { [environment] in
                while case let rest = limit - progress.silence, rest > .zero { try await environment.sleep(rest) }
                throw TransportFault("the upload stalled")
            }
            guard let response = try await group.next() else { throw CancellationError() }
            return response
        }
    }
}
