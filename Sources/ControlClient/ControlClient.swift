import AsyncHTTPClient
package import ControlAPI
import Foundation
package import Model
import NIOCore
import NIOHTTP1

/// The control API of one daemon, as functions.
///
/// Functions that wait end early, with ``ControlError/cancelled``, when their task is cancelled; the daemon then stops
/// waiting too. Call ``shutDown()`` at the end, or use ``with(_:_:)``, which does so.
package struct ControlClient: Sendable {
    private let socket: String
    private let http: HTTPClient

    /// How long a daemon may take to accept a connection.
    private static let connectLimit = TimeAmount.seconds(5)
    /// How long a daemon may take for answers that need neither the store nor a walk through a directory.
    static let quickLimit = TimeAmount.seconds(30)
    /// How long a daemon may take for an answer that needs a few requests to the store.
    static let storeLimit = TimeAmount.seconds(120)
    /// The longest answer accepted: 64 MiB, some 100,000 locks.
    static let answerByteLimit = 64 << 20

    package init(socketPath: String) {
        socket = socketPath
        http = HTTPClient(eventLoopGroupProvider: .singleton, configuration: Self.configuration)
    }

    static var configuration: HTTPClient.Configuration {
        // A daemon of another user could send root's requests to root's own daemon, or to any port.
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.timeout.connect = connectLimit
        // Without a daemon, fail at once.
        configuration.connectionPool.retryConnectionEstablishment = false
        return configuration
    }

    /// Closes the connections.
    package func shutDown() async {
        // Fails only if it was done before.
        try? await http.shutdown()
    }

    /// Runs `body` with a client and closes its connections afterwards.
    package static func with<Value>(
        _ socketPath: String, _ body: (ControlClient) async throws -> Value
    ) async throws -> Value {
        let client = ControlClient(socketPath: socketPath)
        do {
            let value = try await body(client)
            await client.shutDown()
            return value
        } catch {
            await client.shutDown()
            throw error
        }
    }
}

extension ControlClient {
    package func containerStatus() async throws(ControlError) -> ContainerStatus {
        try await get(.status)
    }

    package func itemStatus(_ path: String) async throws(ControlError) -> ItemStatus {
        try await get(.itemStatus, path: path)
    }

    /// The counts over an item and everything below it.
    package func totals(_ path: String) async throws(ControlError) -> ItemTotals {
        try await get(.totals, path: path)
    }

    /// Why an item is as it is.
    package func reasons(_ path: String) async throws(ControlError) -> ItemReasons { try await get(.why, path: path) }

    package func transfers() async throws(ControlError) -> TransferListing { try await get(.transfers) }

    /// What is directly in a directory, in the order of the bytes of the names.
    ///
    /// - Parameters:
    ///   - name: ``DirectoryPage/next`` of the page before; `nil` for the first page.
    ///   - limit: The most items, 1 to ``DirectoryPage/itemLimit``.
    package func list(
        _ path: String, after name: String? = nil, limit: Int? = nil
    ) async throws(ControlError) -> DirectoryPage {
        try await get(.list, query: ControlQuery.text(path: path, after: name, limit: limit))
    }

    package func downloadProgress(_ path: String) async throws(ControlError) -> DownloadProgress {
        try await get(.downloadProgress, path: path)
    }

    package func locks() async throws(ControlError) -> [LockListing] { try await get(.locks) }

    /// Revokes a claim; its holder is notified.
    ///
    /// - Parameter id: The value of ``LockListing/Party/claim``.
    package func breakClaim(_ id: UInt64) async throws(ControlError) {
        let _: Done = try await post(.breakClaim, BreakRequest(id: id))
    }

    /// Follows the events of an item and of everything below it.
    package func events(_ path: String) async throws(ControlError) -> ItemEvents {
        let response: HTTPClientResponse
        do {
            // The first line comes at once, the last one perhaps never.
            response = try await http.execute(
                try request(.events, query: Self.query(path)), deadline: .distantFuture)
        } catch {
            throw Self.controlError(error)
        }
        guard response.status == .ok else {
            throw Self.refusal(response.status.code, try await Self.collect(response))
        }
        return ItemEvents(response: response)
    }

    package func download(_ path: String, wait: Bool) async throws(ControlError) {
        let _: Done = try await post(.download, DownloadRequest(path: path, wait: wait))
    }

    /// Resumes a process blocked for exceeding the download limit, or makes its reads fail.
    package func answerStorm(of process: Int32, isAllowed: Bool) async throws(ControlError) {
        let _: Done = try await post(.answerStorm, StormAnswerRequest(process: process, allowed: isAllowed))
    }

    package func cancelDownload(_ path: String) async throws(ControlError) {
        let _: Done = try await post(.cancelDownload, PathRequest(path: path))
    }

    package func evict(_ path: String) async throws(ControlError) {
        let _: Done = try await post(.evict, PathRequest(path: path))
    }

    /// Evicts what can be evicted, and reports it.
    package func evictReporting(_ path: String) async throws(ControlError) -> EvictionReport {
        try await post(.evict, EvictRequest(path: path, report: true))
    }

    package func conflicts() async throws(ControlError) -> [ConflictedItem] { try await get(.conflicts) }

    package func setPinned(_ path: String, _ pinned: Bool) async throws(ControlError) {
        let _: Done = try await post(.pin, PinRequest(path: path, pinned: pinned))
    }

    package func versions(_ path: String) async throws(ControlError) -> [ItemVersion] {
        try await get(.versions, path: path)
    }

    package func resolve(_ path: String, keep: String) async throws(ControlError) {
        let _: Done = try await post(.resolve, ResolveRequest(path: path, keep: keep))
    }

    package func restoreVersion(_ path: String, id: String) async throws(ControlError) {
        let _: Done = try await post(.restoreVersion, RestoreVersionRequest(path: path, id: id))
    }

    package func devices() async throws(ControlError) -> [KnownDevice] { try await get(.devices) }

    /// The end of the daemon's log.
    ///
    /// - Parameter count: How many lines, 1 to ``LogTail/lineLimit``.
    package func log(lines count: Int) async throws(ControlError) -> [String] {
        let tail: LogTail = try await get(.log, query: "lines=\(count)")
        return tail.lines
    }

    package func trash() async throws(ControlError) -> [DeletedItem] { try await get(.trash) }

    /// - Returns: The path of the item now.
    package func restoreDeleted(_ item: ItemID) async throws(ControlError) -> String {
        let restored: RestoredItem = try await post(.restoreDeleted, RestoreDeletedRequest(item: item))
        return restored.path
    }

    package func shares() async throws(ControlError) -> [SharedFile] {
        try await get(.shares, query: nil, limit: Self.storeLimit)
    }

    package func share(_ path: String, forSeconds seconds: Int64) async throws(ControlError) -> SharedFile {
        try await post(.shares, ShareRequest(path: path, seconds: seconds))
    }

    package func revokeShare(_ id: String) async throws(ControlError) {
        let _: Done = try await post(.revokeShare, RevokeShareRequest(id: id))
    }

    package func setPaused(_ path: String, _ paused: Bool) async throws(ControlError) {
        let _: Done = try await post(.pause, PauseRequest(path: path, paused: paused))
    }

    package func answerHeldDeletions(discarding isDiscarding: Bool) async throws(ControlError) {
        let _: Done = try await post(.answerDeletions, DeletionsRequest(discard: isDiscarding))
    }

    package func sync(wait: Bool) async throws(ControlError) {
        let _: Done = try await post(.sync, SyncRequest(wait: wait))
    }

    package func check(readingBytes: Bool = false) async throws(ControlError) -> CheckReport {
        try await post(.check, CheckRequest(bytes: readingBytes ? true : nil))
    }

    package func collectGarbage(graceSeconds: Int64?, isDryRun: Bool) async throws(ControlError) -> GarbageReport {
        try await post(.gc, GarbageRequest(graceSeconds: graceSeconds, dryRun: isDryRun))
    }

    package func link() async throws(ControlError) -> LinkSettings { try await get(.link) }

    /// - Parameter settings: `nil` for those of the mount's options.
    package func setLink(_ settings: LinkSettings?) async throws(ControlError) -> LinkSettings {
        try await post(.link, LinkRequest(link: settings))
    }

    package func logLevel() async throws(ControlError) -> String {
        let report: LogLevelReport = try await get(.logLevel)
        return report.level
    }

    package func setLogLevel(_ level: String) async throws(ControlError) -> String {
        let report: LogLevelReport = try await post(.logLevel, LogLevelRequest(level: level))
        return report.level
    }

    /// The metrics in the text format of Prometheus.
    package func metrics() async throws(ControlError) -> String {
        let response: HTTPClientResponse
        do {
            response = try await http.execute(
                try request(.metrics, query: ""), deadline: .now() + Self.quickLimit)
        } catch {
            throw Self.controlError(error)
        }
        let data = try await Self.collect(response)
        guard response.status == .ok else { throw Self.refusal(response.status.code, data) }
        return String(decoding: data, as: UTF8.self)
    }

    package func unmount(lazily: Bool) async throws(ControlError) {
        let _: Done = try await post(.unmount, UnmountRequest(lazily: lazily))
    }
}

extension ControlClient {
    private func get<Answer: Decodable>(_ route: ControlRoute, path: String? = nil) async throws(ControlError) -> Answer
    {
        try await get(route, query: path.map { ControlQuery.text(path: $0) })
    }

    private func get<Answer: Decodable>(
        _ route: ControlRoute, query: String?, limit: TimeAmount = quickLimit
    ) async throws(ControlError) -> Answer {
        try await send(route, query: query.map { "?\($0)" } ?? "", body: nil, deadline: .now() + limit)
    }

    /// Without a time limit: these requests wait for the store or for other programs, and end with the caller's task.
    private func post<Answer: Decodable>(
        _ route: ControlRoute, _ body: some Encodable
    ) async throws(ControlError) -> Answer {
        let data: Data
        do {
            data = try ControlJSON.encode(body)
        } catch {
            throw .notUnderstood("\(error)")
        }
        return try await send(route, query: "", body: data, deadline: .distantFuture)
    }

    private func send<Answer: Decodable>(
        _ route: ControlRoute, query: String, body: Data?, deadline: NIODeadline
    ) async throws(ControlError) -> Answer {
        var request = try request(route, query: query)
        if let body {
            // A route that both shows and changes something is asked with GET otherwise.
            request.method = .POST
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(ByteBuffer(bytes: body))
        }
        let response: HTTPClientResponse
        do {
            response = try await http.execute(request, deadline: deadline)
        } catch {
            throw Self.controlError(error)
        }
        let data = try await Self.collect(response)
        guard response.status == .ok else { throw Self.refusal(response.status.code, data) }
        do {
            return try ControlJSON.decode(Answer.self, from: data)
        } catch {
            throw .notUnderstood("HTTP status 200: \(error)")
        }
    }

    private func request(_ route: ControlRoute, query: String) throws(ControlError) -> HTTPClientRequest {
        guard let url = URL(httpURLWithSocketPath: socket, uri: route.path + query) else {
            throw .daemonUnreachable("\(socket) is not the path of a socket")
        }
        var request = HTTPClientRequest(url: url.absoluteString)
        request.method = .init(rawValue: route.method.rawValue)
        return request
    }

    static func query(_ path: String) -> String { "?\(ControlQuery.text(path: path))" }

    private static func collect(_ response: HTTPClientResponse) async throws(ControlError) -> Data {
        do {
            return Data(try await response.body.collect(upTo: answerByteLimit).readableBytesView)
        } catch is NIOTooManyBytesError {
            throw .notUnderstood("longer than \(answerByteLimit >> 20) MiB")
        } catch {
            throw controlError(error)
        }
    }

    /// The error of an answer with a status other than 200.
    static func refusal(_ status: UInt, _ body: Data) -> ControlError {
        do {
            return .refused(try ControlJSON.decode(ControlFault.self, from: body).fileError)
        } catch {
            return .notUnderstood("HTTP status \(status): \(error)")
        }
    }

    static func controlError(_ error: any Error) -> ControlError {
        switch error {
        case let error as ControlError: error
        case is CancellationError: .cancelled
        case _ where Task.isCancelled: .cancelled
        default: .daemonUnreachable(reason(error))
        }
    }

    static func reason(_ error: any Error) -> String {
        switch error {
        case let error as HTTPClientError where error == .deadlineExceeded: "no answer in time"
        case let error as HTTPClientError where error == .connectTimeout:
            "no connection within \(connectLimit.nanoseconds / 1_000_000_000) s"
        case let error as HTTPClientError where error == .remoteConnectionClosed: "it disconnected before answering"
        case HTTPParserError.invalidEOFState: "the connection ended"
        case let error as IOError: String(cString: strerror(error.errnoCode))
        default: "\(error)"
        }
    }
}
