import ControlAPI
import FileSystem
import Foundation
import Hummingbird
import Logging
import Model
import ServiceLifecycle
import Sync

/// Answers the requests of the control API by calling the file system.
struct ControlResponder: HTTPResponder {
    typealias Context = ControlContext

    let fileSystem: FileSystem
    /// The place of the daemon's log.
    let state: StatePlace
    /// Unmounts, lazily or not, or throws the reason why it cannot.
    let unmount: @Sendable (Bool) async throws(FileError) -> Void
    let logger: Logger
    let monitoring: Monitoring
    let link: LinkControl
    let logLevel: LogLevel

    func respond(to request: Request, context: ControlContext) async throws -> Response {
        context.enter(.sending)
        var response = try await answer(request, context)
        guard response.status != .ok || !Self.isStream(request) else {
            context.enter(.streaming)
            return response
        }
        context.enter(.taking)
        let body = response.body
        response.body = ResponseBody(contentLength: body.contentLength) { writer in
            try await body.write(writer)
            context.enter(.resting)
        }
        return response
    }

    private static func isStream(_ request: Request) -> Bool {
        guard let route = route(of: request) else { return false }
        return [.events, .follow, .session, .versionContent].contains(route)
    }

    private static func route(of request: Request) -> ControlRoute? {
        ControlRoute(rawValue: String((request.head.path ?? "").prefix { $0 != "?" }))
    }

    private func answer(_ request: Request, _ context: ControlContext) async throws -> Response {
        let peer = try await context.peer()
        guard peer.mayAsk else {
            return fault(FileError(.notPermitted, "only the daemon's user and root have access"))
        }
        let target = request.head.path ?? ""
        guard let route = Self.route(of: request) else {
            return fault(FileError(.notFound, "no such resource: \(target); see /v1/status"), status: 404)
        }
        guard let method = route.methods.first(where: { $0.rawValue == request.method.rawValue }) else {
            let methods = route.methods.map(\.rawValue).joined(separator: " or ")
            return fault(FileError(.unsupported, "\(route.path) requires \(methods)"), status: 405)
        }
        // A GET has no body to wait for.
        if method == .get { context.enter(.working) }
        do {
            switch method {
            case .get where route == .events:
                return try EventStream(fileSystem: fileSystem).respond(to: request, path: try path(in: target))
            case .get where route == .follow:
                return try FollowStream(fileSystem: fileSystem, disconnect: context.disconnect)
                    .respond(to: request, path: try path(in: target))
            case .get where route == .versionContent:
                guard let id = ControlQuery.version(in: target) else {
                    throw FileError(.invalid, "the query must be path=…&id=…, percent-encoded")
                }
                return try await versionContent(try path(in: target), id: id)
            case .get where route == .metrics: return try monitoring.metrics()
            case .get where route == .health: return monitoring.health()
            case .get where Self.longRoutes.contains(route):
                return try await answerWhileConnected(route, request, target: target)
            case .get: return try await answer(route, target: target)
            case .post where route == .session:
                return try ControlSession(
                    fileSystem: fileSystem, logger: logger,
                    withholdsDownloads: target.hasSuffix(ControlRoute.withholdingDownloads),
                    executor: context.executor
                )
                .respond(to: request, from: peer, in: context)
            case .post: return try await perform(route, request, context)
            }
        } catch let error as FileError {
            return fault(error)
        } catch is CancellationError {
            return fault(FileError(.cancelled, "the wait ended: the client disconnected, or the daemon is stopping"))
        } catch {
            logger.error("a control request failed", metadata: ["route": "\(route.path)", "error": "\(error)"])
            return fault(FileError(.inputOutput, "\(route.path) failed; see the daemon's log"))
        }
    }

    // MARK: Routes

    /// Those whose answers take long in a large or hostile container.
    private static let longRoutes: Set<ControlRoute> = [
        .totals, .transfers, .conflicts, .pins, .trash, .downloadProgress, .versions,
    ]

    /// Answers away from the event loop, which must see when the client disconnects: then the work ends.
    private func answerWhileConnected(
        _ route: ControlRoute, _ request: Request, target: String
    ) async throws -> Response {
        var response = try await request.body.consumeWithCancellationOnInboundClose { _ in
            try await answerAway(route, target: target)
        }
        // Watching for the client's disconnect has consumed the rest of the connection.
        response.headers[.connection] = "close"
        return response
    }

    @concurrent private func answerAway(_ route: ControlRoute, target: String) async throws -> Response {
        try await answer(route, target: target)
    }

    private func answer(_ route: ControlRoute, target: String) async throws -> Response {
        switch route {
        case .status: return try json(try containerStatus())
        case .itemStatus: return try json(try fileSystem.itemStatus(try path(in: target)))
        case .totals: return try json(try await fileSystem.totals(below: try path(in: target)))
        case .why: return try json(try fileSystem.reasons(try path(in: target)))
        case .transfers: return try json(try fileSystem.transfers())
        case .list: return try await list(target)
        case .downloadProgress: return try json(try fileSystem.downloadProgress(try path(in: target)))
        case .locks: return try json(try fileSystem.locks())
        case .versions: return try json(try fileSystem.versions(try path(in: target)))
        case .shares: return try json(try await fileSystem.shares())
        case .devices: return try json(try fileSystem.devices())
        case .log: return try json(try logTail(target))
        case .conflicts: return try json(try fileSystem.conflicts())
        case .pins: return try json(try fileSystem.pins())
        case .trash: return TrashStream(listing: try fileSystem.trash()).response
        case .link: return try json(link.settings)
        case .logLevel: return try json(LogLevelReport(level: logLevel.level.rawValue))
        case .events, .follow, .versionContent, .metrics, .health:
            throw FileError(.unsupported, "\(route.path) is not answered in JSON")
        case .download, .cancelDownload, .evict, .pin, .pause, .answerDeletions, .resolve, .restoreVersion,
            .discardVersion, .markVersionResolved, .restoreDeleted, .revokeShare, .sync, .check, .gc, .unmount,
            .session, .breakClaim, .answerStorm:
            throw FileError(.unsupported, "\(route.path) requires POST")
        }
    }

    private func logTail(_ target: String) throws(FileError) -> LogTail {
        var count = LogTail.usualLineCount
        if let text = ControlQuery.lines(in: target) {
            guard let number = Int(text), (1...LogTail.lineLimit).contains(number) else {
                throw FileError(.invalid, "lines= must be 1 to \(LogTail.lineLimit)")
            }
            count = number
        }
        return LogTail(lines: try state.ownLogTail(lineCount: count))
    }

    /// Away from the event loop: 10,000 items are some megabytes of JSON.
    @concurrent private func list(_ target: String) async throws -> Response {
        var limit = DirectoryPage.itemLimit
        if let text = ControlQuery.limit(in: target) {
            guard let number = Int(text) else { throw FileError(.invalid, "limit=\(text) is not a number of items") }
            limit = number
        }
        return try json(
            try fileSystem.list(try path(in: target), after: ControlQuery.after(in: target), limit: limit))
    }

    private func containerStatus() throws(FileError) -> ContainerStatus {
        var status = try fileSystem.containerStatus()
        let settings = link.settings
        if !settings.isUnchanged { status.link = settings }
        return status
    }

    private func changeLogLevel(_ text: String) throws(FileError) -> LogLevelReport {
        guard let level = Logger.Level(nameOrNumber: text) else {
            let names = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
            throw FileError(.invalid, "a level is 0 to 7, or one of \(names), not \(text)")
        }
        logger.notice("the level of the log is now \(level)")
        logLevel.level = level
        return LogLevelReport(level: level.rawValue)
    }

    private func versionContent(_ path: String, id: String) async throws -> Response {
        let bytes = try await cancelWhenGracefulShutdown { try await fileSystem.versionBytes(path, id: id) }
        return Response(
            status: .ok, headers: [.contentType: "application/octet-stream"],
            body: ResponseBody(contentLength: Int(bytes.byteCount)) { writer in
                var bytes = bytes
                // An error breaks the connection: the client sees that bytes are missing from the announced length.
                while let piece = try await bytes.next() { try await writer.write(ByteBuffer(bytes: piece)) }
                try await writer.finish(nil)
            })
    }

    /// Performs a request that may take long. It is cancelled when the client disconnects, and when the daemon stops,
    /// except for unmounting, which stops the daemon.
    private func perform(
        _ route: ControlRoute, _ request: Request, _ context: ControlContext
    ) async throws -> Response {
        let isUnmounting = route == .unmount
        var response = try await request.body.consumeWithCancellationOnInboundClose { body in
            let bytes = try await Self.collect(body)
            context.enter(.working)
            if isUnmounting { return try await carryOut(route, bytes) }
            return try await cancelWhenGracefulShutdown { try await carryOut(route, bytes) }
        }
        // Watching for the client's disconnect has consumed the rest of the connection.
        response.headers[.connection] = "close"
        return response
    }

    private func carryOut(_ route: ControlRoute, _ body: Data) async throws -> Response {
        switch route {
        case .download:
            let order = try Self.decode(DownloadRequest.self, body)
            try await fileSystem.download(Self.relative(order.path), wait: order.wait)
        case .cancelDownload: try fileSystem.cancelDownload(Self.relative(try Self.decode(PathRequest.self, body).path))
        case .evict:
            let order = try Self.decode(EvictRequest.self, body)
            let path = Self.relative(order.path)
            if order.report ?? false { return try json(try await fileSystem.evictReporting(path)) }
            try await fileSystem.evict(path)
        case .pin:
            let order = try Self.decode(PinRequest.self, body)
            try fileSystem.setPinned(Self.relative(order.path), order.pinned)
        case .resolve:
            let order = try Self.decode(ResolveRequest.self, body)
            try await fileSystem.resolve(Self.relative(order.path), keep: VersionChoice(order.keep))
        case .restoreVersion:
            let order = try Self.decode(RestoreVersionRequest.self, body)
            try await fileSystem.restoreVersion(Self.relative(order.path), id: order.id)
        case .discardVersion:
            let order = try Self.decode(RestoreVersionRequest.self, body)
            try fileSystem.discardVersion(Self.relative(order.path), id: order.id)
        case .markVersionResolved:
            let order = try Self.decode(RestoreVersionRequest.self, body)
            try await fileSystem.markVersionResolved(Self.relative(order.path), id: order.id)
        case .restoreDeleted:
            let order = try Self.decode(RestoreDeletedRequest.self, body)
            return try json(RestoredItem(path: try await fileSystem.restoreDeleted(order.item)))
        case .shares:
            let order = try Self.decode(ShareRequest.self, body)
            return try json(try await fileSystem.share(Self.relative(order.path), forSeconds: order.seconds))
        case .revokeShare: try await fileSystem.revokeShare(try Self.decode(RevokeShareRequest.self, body).id)
        case .pause:
            let order = try Self.decode(PauseRequest.self, body)
            try fileSystem.setPaused(Self.relative(order.path), order.paused)
        case .answerDeletions:
            try fileSystem.answerHeldDeletions(discarding: try Self.decode(DeletionsRequest.self, body).discard)
        case .sync: try await fileSystem.sync(wait: try Self.decode(SyncRequest.self, body).wait)
        case .check:
            let order = try Self.decode(CheckRequest.self, body)
            return try json(
                CheckReport(problems: try await fileSystem.syncEngine.check(readingBytes: order.bytes ?? false)))
        case .gc:
            let order = try Self.decode(GarbageRequest.self, body)
            if let seconds = order.graceSeconds, !(0...GarbageRequest.graceLimitSeconds).contains(seconds) {
                throw FileError(.invalid, "the grace period must be 0 to \(GarbageRequest.graceLimitSeconds) seconds")
            }
            let grace = order.graceSeconds.map { Duration.seconds($0) }
            return try json(try await fileSystem.syncEngine.collectGarbage(grace: grace, isDryRun: order.dryRun))
        case .unmount: try await unmount(try Self.decode(UnmountRequest.self, body).lazily)
        case .breakClaim: try fileSystem.breakClaim(try Self.decode(BreakRequest.self, body).id)
        case .answerStorm:
            let order = try Self.decode(StormAnswerRequest.self, body)
            try fileSystem.answerStorm(of: order.process, isAllowed: order.allowed)
        case .link:
            try link.set(try Self.decode(LinkRequest.self, body).link)
            logger.notice("the link to the store is now \(link.settings.text)")
            return try json(link.settings)
        case .logLevel: return try json(try changeLogLevel(try Self.decode(LogLevelRequest.self, body).level))
        case .session: throw FileError(.unsupported, "\(route.path) is a stream")
        case .status, .itemStatus, .totals, .why, .transfers, .downloadProgress, .locks, .versions, .versionContent,
            .conflicts, .pins, .trash, .events, .follow, .list, .devices, .log, .metrics, .health:
            throw FileError(.unsupported, "\(route.path) requires GET")
        }
        return try json(Done())
    }

    // MARK: Requests

    private func path(in target: String) throws(FileError) -> String {
        guard let path = ControlQuery.path(in: target) else {
            throw FileError(
                .invalid, "the query must be path=…, below the container's root, percent-encoded")
        }
        return Self.relative(path)
    }

    /// Removes slashes at both ends: the file system takes none.
    private static func relative(_ path: String) -> String {
        ItemPath(ItemPath(path).components).string
    }

    private static func collect(_ body: RequestBody) async throws -> Data {
        var data = Data()
        for try await buffer in body {
            data.append(contentsOf: buffer.readableBytesView)
            guard data.count <= ControlRoute.bodyByteLimit else {
                throw FileError(.tooLarge, "a request body has at most \(ControlRoute.bodyByteLimit >> 10) KiB")
            }
        }
        return data
    }

    private static func decode<Value: Decodable>(_ type: Value.Type, _ data: Data) throws(FileError) -> Value {
        do {
            return try ControlJSON.decode(type, from: data)
        } catch {
            throw FileError(
                .invalid, "the body must be a JSON object of \(type): \(DecodingFault.sentence(error))", cause: error)
        }
    }

    // MARK: Answers

    private func json(_ value: some Encodable, status: Int = 200) throws -> Response {
        let data = try ControlJSON.encode(value)
        return Response(
            status: .init(code: status), headers: [.contentType: "application/json"],
            body: .init(byteBuffer: ByteBuffer(bytes: data)))
    }

    private func fault(_ error: FileError, status: Int? = nil) -> Response {
        let fault = ControlFault(error)
        do {
            var response = try json(fault, status: status ?? fault.httpStatus)
            response.headers[.connection] = "close"  // the rest of the request may not have been read
            return response
        } catch {
            logger.error("failed to write a response", metadata: ["error": "\(error)"])
            return Response(status: .internalServerError)
        }
    }
}
