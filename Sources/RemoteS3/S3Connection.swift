import AsyncHTTPClient
import Foundation
import NIOCore
import Remote
import Synchronization

/// Sends requests to one bucket: adds the address and the signature, and retries.
///
///     request ── attempt ──▶ response with a status of success
///                        ──▶ the bucket is in another region         once: use that region
///                        ──▶ these credentials are rejected          once: look for others
///                        ──▶ the bucket requires an MD5 too          once, and from then on: with one
///                        ──▶ the clocks differ too much              once, and from then on: by the store's
///                        ──▶ the store asks to slow down             StoreThrottle, for all requests
///                        ──▶ transient                               RetryPolicy
///                        ──▶ anything else                           Failure
final class S3Connection: Sendable {
    let location: S3Location
    let transport: HTTPTransport
    let chain: CredentialChain
    let clock: S3Clock
    let environment: S3Environment
    let throttle: StoreThrottle
    /// The region to sign for: the location's until the store names another.
    let region: Mutex<String>
    /// Whether the bucket has required `Content-MD5`.
    let wantsMD5 = Atomic<Bool>(false)

    /// - Parameter variables: Of the process: used to find credentials and proxies.
    init(_ location: S3Location, variables: [String: String], environment: S3Environment) {
        self.location = location
        self.environment = environment
        region = Mutex(location.region)
        throttle = StoreThrottle(environment)
        let clock = S3Clock(environment)
        self.clock = clock
        transport = HTTPTransport(variables: variables, limits: environment.limits)
        chain = CredentialChain(environment: variables, transport: transport, now: { clock.now })
    }

    /// Why a request did not succeed.
    struct Failure: Error, Sendable {
        enum Cause: Sendable {
            case fault(S3Fault)
            case transport(TransportFault)
            case foreign(ForeignAnswer)
            /// Nothing was sent, since the store has asked to slow down.
            case paused
            /// An error of the credentials or of the body to send.
            case local(StoreError)
            case cancelled
        }

        let cause: Cause
        /// The number of attempts. After the first one the request may have been executed unnoticed.
        let attemptCount: Int
        let context: S3Context
        /// How long no request will be made, if the store has asked to slow down.
        let pause: Duration?

        func storeError(key: String) -> StoreError {
            let error = error(key: key)
            guard error.code == .throttled else { return error }
            return StoreError(.throttled, key: error.key, error.detail, retryAfter: pause)
        }

        private func error(key: String) -> StoreError {
            switch cause {
            case .fault(let fault): fault.storeError(key: key, context)
            case .transport(let fault): fault.storeError(key: key, context)
            case .foreign(let answer): answer.storeError(key: key, context)
            case .paused:
                StoreError(.throttled, key: key, "\(context.location.endpoint.url): the store has asked to slow down")
            case .local(let error): StoreError(error.code, key: error.code == .invalid ? error.key : key, error.detail)
            case .cancelled: StoreError(.cancelled, key: key)
            }
        }
    }

    /// - Returns: A response of the store with a status of success, whose body is not read yet. Of a write and of a
    ///   listing it is not known yet whether it is the store's: see ``AnswerOrigin``.
    func send(_ request: S3Request) async throws(Failure) -> HTTPClientResponse {
        let start = environment.uptime()
        var attemptCount = 0
        var corrections = Corrections()
        while true {
            try await waitForTurn(since: start, attemptCount)
            attemptCount += 1
            let attempt = await attempt(request)
            let cause: Failure.Cause
            switch attempt.result {
            case .success(let response): return response
            case .failure(let found): cause = found.cause
            }
            if case .fault(let fault) = cause, await correct(fault, attempt, &corrections) { continue }
            guard
                let delay = delay(cause, attemptCount, elapsed: environment.uptime() - start)
            else { throw failure(cause, attemptCount, attempt.context) }
            environment.willRetry()
            do {
                if delay > .zero { try await environment.sleep(delay) }
            } catch {
                throw failure(.cancelled, attemptCount, attempt.context)
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
        let now = clock.now
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
            return try await response.collect(upTo: limit, within: environment.limits.slow)
        } catch {
            throw TransportFault(error)
        }
    }

    /// How much of a body is read that nobody needs, so that the connection can be used again: 64 KiB.
    private static let drainByteLimit = 64 << 10

    /// Reads and discards the body.
    func drain(_ response: HTTPClientResponse) async {
        // The status is sufficient: errors in the rest do not matter.
        _ = try? await collect(response, upTo: Self.drainByteLimit)
    }

    // MARK: - Private

    /// What was changed for one request: each is tried once.
    private struct Corrections {
        var hasMoved = false
        var hasHashed = false
        var hasSetClock = false
        var hasRenewed = false
    }

    /// Changes what the store objects to.
    ///
    /// - Returns: Whether the request is to be made again at once.
    private func correct(_ fault: S3Fault, _ attempt: Attempt, _ corrections: inout Corrections) async -> Bool {
        if !corrections.hasMoved, move(fault) {
            corrections.hasMoved = true
            return true
        }
        if !corrections.hasHashed, fault.asksForMD5 {
            corrections.hasHashed = true
            wantsMD5.store(true, ordering: .relaxed)
            return true
        }
        if !corrections.hasSetClock, clock.correct(by: fault, signed: attempt.time) {
            corrections.hasSetClock = true
            return true
        }
        if !corrections.hasRenewed, fault.isAboutCredentials, let old = attempt.context.credentials {
            corrections.hasRenewed = true
            await chain.reject(old)
            if let new = try? await chain.credentials(), new != old { return true }
        }
        return false
    }

    /// Returns when a request may be made to a store that has asked to slow down.
    ///
    /// - Throws: `paused` at once when that would take too long for this request.
    private func waitForTurn(since start: Duration, _ attemptCount: Int) async throws(Failure) {
        while let rest = throttle.admit() {
            let context = context(nil, region.withLock { $0 }, clock.now, "")
            guard environment.uptime() - start + rest <= RetryPolicy.totalLimit else {
                throw failure(.paused, attemptCount, context)
            }
            do { try await throttle.wait(rest) } catch { throw failure(.cancelled, attemptCount, context) }
        }
    }

    private func failure(_ cause: Failure.Cause, _ attemptCount: Int, _ context: S3Context) -> Failure {
        Failure(cause: cause, attemptCount: attemptCount, context: context, pause: throttle.rest)
    }

    /// - Returns: `nil` when the request is not to be made again. After a request to slow down there is no delay beyond
    ///   the pause of all requests.
    private func delay(_ cause: Failure.Cause, _ attemptCount: Int, elapsed: Duration) -> Duration? {
        let retryAfter: Duration?
        switch cause {
        case .fault(let fault) where fault.isThrottling:
            let rest = throttle.rest ?? .zero
            return attemptCount < RetryPolicy.attemptLimit && elapsed + rest <= RetryPolicy.totalLimit ? .zero : nil
        case .fault(let fault) where fault.isTransient: retryAfter = fault.retryAfter
        case .transport(let fault) where fault.isTransient: retryAfter = nil
        case .foreign(let answer) where answer.isTransient: retryAfter = nil
        case .fault, .transport, .foreign, .paused, .local, .cancelled: return nil
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
}
