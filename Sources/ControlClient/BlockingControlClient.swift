import ControlAPI
import Foundation
import Glibc
package import Model

/// The requests of the control API for callers that block: no task is involved, so that it works on threads of the
/// cooperative pool too. The caller's thread is that of the connection.
package struct BlockingControlClient: Sendable {
    private let socket: String
    private let quickLimit: Duration

    /// - Parameter quickLimit: How long a daemon may take for answers that need no store.
    package init(socketPath: String, quickLimit: Duration = ControlClient.quickLimit) {
        socket = socketPath
        self.quickLimit = quickLimit
    }

    package func containerStatus() throws(ControlError) -> ContainerStatus { try get(.status) }

    package func itemStatus(_ path: String) throws(ControlError) -> ItemStatus { try get(.itemStatus, path: path) }

    /// See ``ControlClient/list(_:after:limit:)``.
    package func list(
        _ path: String, after name: String? = nil, limit: Int? = nil
    ) throws(ControlError) -> DirectoryPage {
        try get(.list, query: "?" + ControlQuery.text(path: path, after: name, limit: limit))
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
            let connection = ControlConnection(socketPath: socket)
            try connection.run(ControlRequest(.versionContent, query: query), deadline: nil) {
                bytes throws(ControlError) in
                do throws(FileError) {
                    try Self.write(bytes, to: descriptor, file)
                } catch {
                    throw .refused(error)
                }
            }
        } catch {
            unlink(file)
            throw error
        }
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32, _ file: String) throws(FileError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw FileError(systemCall: errno, "cannot write \(file)") }
            rest = rest.dropFirst(count)
        }
    }
}

extension BlockingControlClient {
    private func get<Answer: Decodable>(_ route: ControlRoute, path: String? = nil) throws(ControlError) -> Answer {
        try get(route, query: path.map(ControlClient.query) ?? "")
    }

    private func get<Answer: Decodable>(_ route: ControlRoute, query: String) throws(ControlError) -> Answer {
        try send(ControlRequest(route, query: query), deadline: .now + quickLimit)
    }

    private func post(_ route: ControlRoute, _ body: some Encodable) throws(ControlError) {
        let _: Done = try send(try ControlRequest(route, body), deadline: nil)
    }

    private func send<Answer: Decodable>(
        _ request: ControlRequest, deadline: ContinuousClock.Instant?
    ) throws(ControlError) -> Answer {
        try ControlClient.decode(try ControlConnection(socketPath: socket).wholeAnswer(request, deadline: deadline))
    }
}
