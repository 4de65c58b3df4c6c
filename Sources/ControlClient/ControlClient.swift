package import ControlAPI
import Foundation
package import Model

/// The control API of one daemon, as functions.
///
/// Functions that wait end early, with ``ControlError/cancelled``, when their task is cancelled; the daemon then stops
/// waiting too. Each request has a connection and a thread of its own, for as long as it takes.
package struct ControlClient: Sendable {
    private let socket: String
    private let deadline: ContinuousClock.Instant?
    private let bodyLimit: Duration

    /// How long a daemon may take for answers that need neither the store nor a walk through a directory.
    package static let quickLimit = Duration.seconds(30)
    /// How long a daemon may take to send an answer that it has begun, when it may take any time for the work: 30 s.
    package static let bodyLimit = quickLimit
    /// How long a daemon may take for an answer that needs a few requests to the store.
    static let storeLimit = Duration.seconds(120)
    /// The longest answer accepted: 64 MiB, some 100,000 locks.
    static let answerByteLimit = 64 << 20

    /// - Parameters:
    ///   - deadline: For all requests together, in addition to the limits of each.
    ///   - bodyLimit: How long a daemon may take for each part of a long list.
    package init(
        socketPath: String, deadline: ContinuousClock.Instant? = nil, bodyLimit: Duration = ControlClient.bodyLimit
    ) {
        socket = socketPath
        self.deadline = deadline
        self.bodyLimit = bodyLimit
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
        // The first line comes at once, the last one perhaps never.
        let stream = BodyStream(socketPath: socket)
        try await stream.start(ControlRequest(.events, query: Self.query(path)), deadline: deadline)
        return ItemEvents(stream: stream)
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

    package func pins() async throws(ControlError) -> [PinnedItem] { try await get(.pins) }

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

    /// Items that were deleted and can be restored, the latest deletion first.
    package func trash() async throws(ControlError) -> DeletedItems {
        // No limit for the whole: the answer comes as fast as its reader takes it.
        let stream = BodyStream(socketPath: socket)
        try await stream.start(ControlRequest(.trash), deadline: deadline, pace: bodyLimit)
        return DeletedItems(stream: stream)
    }

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
        String(decoding: try await data(ControlRequest(.metrics), limit: Self.quickLimit), as: UTF8.self)
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
        _ route: ControlRoute, query: String?, limit: Duration = quickLimit
    ) async throws(ControlError) -> Answer {
        try Self.decode(try await data(ControlRequest(route, query: query.map { "?\($0)" } ?? ""), limit: limit))
    }

    /// Without a time limit: these requests wait for the store or for other programs, and end with the caller's task.
    private func post<Answer: Decodable>(
        _ route: ControlRoute, _ body: some Encodable
    ) async throws(ControlError) -> Answer {
        try Self.decode(try await data(try ControlRequest(route, body), limit: nil))
    }

    private func data(_ request: ControlRequest, limit: Duration?) async throws(ControlError) -> Data {
        let ends = [deadline, limit.map { .now + $0 }].compactMap { $0 }
        return try await ControlConnection(socketPath: socket).data(request, deadline: ends.min())
    }

    static func query(_ path: String) -> String { "?\(ControlQuery.text(path: path))" }

    static func decode<Answer: Decodable>(_ data: Data) throws(ControlError) -> Answer {
        do {
            return try ControlJSON.decode(Answer.self, from: data)
        } catch {
            throw .notUnderstood("HTTP status 200: \(DecodingFault.sentence(error))")
        }
    }

    /// The error of an answer with a status other than 200.
    static func refusal(_ status: Int, _ body: Data) -> ControlError {
        do {
            return .refused(try ControlJSON.decode(ControlFault.self, from: body).fileError)
        } catch {
            return .notUnderstood("HTTP status \(status): \(DecodingFault.sentence(error))")
        }
    }
}
