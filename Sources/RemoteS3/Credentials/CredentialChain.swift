import Foundation
import Remote

/// Caches the credentials that sign requests: looks for them once, and again before they expire.
///
///     none     ── credentials() ──▶ held       from the first source that is configured
///     held     ── credentials() ──▶ held       unchanged, while they are fresh
///     ageing   ── credentials() ──▶ held       fetched again; until that succeeds, the old ones while valid
///     held     ── reject(_:) ─────▶ none       the store no longer accepts them: a file or variable may have changed
///
/// A command, or a service that gives a role, is not asked again for a while: what it gave a moment ago is what it would
/// give again, and a store that refuses it is asked each second.
///
/// Of any number of callers one fetches and the others wait for it.
actor CredentialChain {
    private let environment: [String: String]
    private let transport: HTTPTransport
    private let now: @Sendable () -> Date
    private var held: Credentials?
    private var fetch: Task<Result<Credentials, StoreError>, Never>?
    /// After a failed fetch: when the next one may begin, while the old ones are still valid.
    private var nextFetch = Date.distantPast
    private var lastQuery: Query?

    /// What a source said that costs something to ask.
    private struct Query: Sendable {
        let source: CredentialSource
        let time: Date
        let result: Result<Credentials, StoreError>
    }

    /// How long before they expire credentials are fetched again: 5 minutes, like AWS's own libraries.
    static let refreshMargin: TimeInterval = 300
    /// How long not to ask the source again after it did not answer: 10 s.
    static let refreshPause: TimeInterval = 10
    /// How long not to ask a command or a service again that has given keys, even if the store refuses them: a minute.
    static let queryPause: TimeInterval = 60

    /// - Parameters:
    ///   - environment: Variables of the process; they also determine the files.
    ///   - transport: For sources that are servers.
    init(environment: [String: String], transport: HTTPTransport, now: @escaping @Sendable () -> Date) {
        self.environment = environment
        self.transport = transport
        self.now = now
    }

    /// - Throws: ``StoreError`` with `denied` and what to do when there are none, `unavailable` when their source does
    ///   not answer.
    func credentials() async throws(StoreError) -> Credentials {
        if let held, !needsFetch(held) { return held }
        let result = await fetched()
        switch result {
        case .success(let credentials): return credentials
        case .failure(let error):
            guard let held, lasts(held, for: 0) else { throw error }
            return held
        }
    }

    /// Notes that the store refused these; the next call looks for others.
    func reject(_ credentials: Credentials) {
        if held == credentials { held = nil }
    }

    private func needsFetch(_ credentials: Credentials) -> Bool {
        guard !lasts(credentials, for: Self.refreshMargin) else { return false }
        return !lasts(credentials, for: 0) || now() >= nextFetch
    }

    private func lasts(_ credentials: Credentials, for margin: TimeInterval) -> Bool {
        guard let expiration = credentials.expiration else { return true }
        return now().addingTimeInterval(margin) < expiration
    }

    private func fetched() async -> Result<Credentials, StoreError> {
        if let fetch { return await fetch.value }
        // An unstructured task, so that a cancelled caller does not end it for the others.
        let task = Task { await look() }
        fetch = task
        let result = await task.value
        fetch = nil
        switch result {
        case .success(let credentials): held = credentials
        case .failure: nextFetch = now().addingTimeInterval(Self.refreshPause)
        }
        return result
    }

    private func look() async -> Result<Credentials, StoreError> {
        do throws(StoreError) {
            guard let source = try CredentialSource.first(environment: environment) else { throw Self.none }
            guard source.isQueried else { return .success(try await credentials(from: source)) }
            if let lastQuery, lastQuery.source == source, isRecent(lastQuery) { return lastQuery.result }
            let result: Result<Credentials, StoreError>
            do throws(StoreError) { result = .success(try await credentials(from: source)) } catch {
                result = .failure(error)
            }
            lastQuery = Query(source: source, time: now(), result: result)
            return result
        } catch {
            return .failure(error)
        }
    }

    private func isRecent(_ query: Query) -> Bool {
        let age = now().timeIntervalSince(query.time)
        switch query.result {
        case .success(let credentials): return 0..<Self.queryPause ~= age && lasts(credentials, for: 0)
        case .failure: return 0..<Self.refreshPause ~= age
        }
    }

    private func credentials(from source: CredentialSource) async throws(StoreError) -> Credentials {
        switch source {
        case .found(let credentials): return credentials
        case .container(let url, let token):
            return try await MetadataClient(http: transport.direct).container(url: url, token: token)
        case .instance(let endpoint):
            let found = try await MetadataClient(http: transport.direct).instance(endpoint: endpoint)
            guard let found else { throw Self.none }
            return found
        case .process(let process): return try await process.credentials()
        case .role(let role, let owner):
            return try await TokenService(transport: transport, now: now).assume(role, by: credentials(from: owner))
        case .webIdentity(let role, let file):
            return try await TokenService(transport: transport, now: now).assume(role, tokenFile: file)
        }
    }

    private static let none = CredentialSource.refusal(
        "there are no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or put a profile into "
            + "~/.aws/credentials with: aws configure")
}
