import AsyncHTTPClient
import ControlAPI
import Foundation
import Glibc
package import Model
import NIOCore
import NIOHTTP1

/// The requests of the control API for callers that block: no task is involved, so that it works on threads of the
/// cooperative pool too. Never to be called on an event loop.
package struct BlockingControlClient: Sendable {
    private let socket: String

    /// All requests of a process share its connections. It is never shut down.
    static let http = HTTPClient(eventLoopGroupProvider: .singleton, configuration: ControlClient.configuration)

    package init(socketPath: String) { socket = socketPath }

    package func containerStatus() throws(ControlError) -> ContainerStatus { try get(.status) }

    package func itemStatus(_ path: String) throws(ControlError) -> ItemStatus { try get(.itemStatus, path: path) }

    /// See ``ControlClient/list(_:after:limit:)``.
    package func list(
        _ path: String, after name: String? = nil, limit: Int? = nil
    ) throws(ControlError) -> DirectoryPage {
        let query = "?" + ControlQuery.text(path: path, after: name, limit: limit)
        return try send(try request(.list, query: query), deadline: .now() + ControlClient.quickLimit)
    }

    /// Evicts a file, or all files below a directory; waits for presenters and for the store.
    package func evict(_ path: String) throws(ControlError) { try post(.evict, PathRequest(path: path)) }

    package func versions(_ path: String) throws(ControlError) -> [ItemVersion] { try get(.versions, path: path) }

    package func restoreVersion(_ path: String, id: String) throws(ControlError) {
        try post(.restoreVersion, RestoreVersionRequest(path: path, id: id))
    }

    package func resolve(_ path: String, keep: String) throws(ControlError) {
        try post(.resolve, ResolveRequest(path: path, keep: keep))
    }

    package func discardVersion(_ path: String, id: String) throws(ControlError) {
        try post(.discardVersion, RestoreVersionRequest(path: path, id: id))
    }

    package func markVersionResolved(_ path: String, id: String) throws(ControlError) {
        try post(.markVersionResolved, RestoreVersionRequest(path: path, id: id))
    }

    /// Writes the bytes of a version to a new file, with mode 0600; waits for the store if they are not local.
    ///
    /// The file is removed again unless it is complete.
    package func versionContent(_ path: String, id: String, into file: String) throws(ControlError) {
        let descriptor = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .refused(FileError(systemCall: errno, "cannot create \(file)")) }
        defer { close(descriptor) }
        let query = "?" + ControlQuery.text(path: path, version: id)
        do throws(ControlError) {
            let body = BodyReader()
            let task = Self.http.execute(
                request: try request(.versionContent, query: query), delegate: body, deadline: .distantFuture)
            do throws(FileError) {
                try body.read { bytes throws(FileError) in try Self.write(bytes, to: descriptor, file) }
            } catch {
                task.cancel()
                throw .refused(error)
            }
            try Self.finish(task.futureResult) { response in
                guard response.status == .ok else { throw ControlClient.refusal(response.status.code, response.body) }
            }
        } catch {
            unlink(file)
            throw error
        }
    }

    private static func write(_ bytes: ByteBuffer, to descriptor: Int32, _ file: String) throws(FileError) {
        var rest = bytes.readableBytesView[...]
        while !rest.isEmpty {
            let count =
                rest.withContiguousStorageIfAvailable { Glibc.write(descriptor, $0.baseAddress, $0.count) } ?? -1
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw FileError(systemCall: errno, "cannot write \(file)") }
            rest = rest.dropFirst(count)
        }
    }
}

extension BlockingControlClient {
    private func get<Answer: Decodable>(_ route: ControlRoute, path: String? = nil) throws(ControlError) -> Answer {
        try send(
            try request(route, query: path.map(ControlClient.query) ?? ""), deadline: .now() + ControlClient.quickLimit)
    }

    private func post(_ route: ControlRoute, _ body: some Encodable) throws(ControlError) {
        var request = try request(route, query: "")
        request.headers.add(name: "Content-Type", value: "application/json")
        do {
            request.body = .bytes(try ControlJSON.encode(body))
        } catch {
            throw .notUnderstood("\(error)")
        }
        let _: Done = try send(request, deadline: .distantFuture)
    }

    private func send<Answer: Decodable>(
        _ request: HTTPClient.Request, deadline: NIODeadline
    ) throws(ControlError) -> Answer {
        let accumulator = ResponseAccumulator(request: request, maxBodySize: ControlClient.answerByteLimit)
        let task = Self.http.execute(request: request, delegate: accumulator, deadline: deadline)
        return try Self.finish(task.futureResult) { response in
            let data = response.body.map { Data($0.readableBytesView) } ?? Data()
            guard response.status == .ok else { throw ControlClient.refusal(response.status.code, data) }
            do {
                return try ControlJSON.decode(Answer.self, from: data)
            } catch {
                throw ControlError.notUnderstood("HTTP status 200: \(error)")
            }
        }
    }

    /// Waits for a response.
    private static func finish<Response: Sendable, Value>(
        _ future: EventLoopFuture<Response>, _ body: (Response) throws -> Value
    ) throws(ControlError) -> Value {
        do {
            return try body(try future.wait())
        } catch {
            throw ControlClient.controlError(error)
        }
    }

    private func request(_ route: ControlRoute, query: String) throws(ControlError) -> HTTPClient.Request {
        try .init(socket: socket, route, query: query)
    }
}

extension HTTPClient.Request {
    init(socket: String, _ route: ControlRoute, query: String) throws(ControlError) {
        guard let url = URL(httpURLWithSocketPath: socket, uri: route.path + query) else {
            throw .daemonUnreachable("\(socket) is not the path of a socket")
        }
        do {
            try self.init(url: url, method: .RAW(value: route.method.rawValue))
        } catch {
            throw .daemonUnreachable("\(socket): \(error)")
        }
    }
}
