package import ControlAPI
import Foundation
import Glibc
import Model

/// The requests of the control API for callers that block: no task is involved, so that it works on threads of the
/// cooperative pool too. The caller's thread is that of the connection.
package struct BlockingControlClient: Sendable {
    private let socket: String
    private let quickLimit: Duration

    /// - Parameter quickLimit: How long a daemon may take for answers that need no store, if less than they may take.
    package init(socketPath: String, quickLimit: Duration = ControlRequests.quickLimit) {
        socket = socketPath
        self.quickLimit = quickLimit
    }

    package func send<Request: ControlRequest>(_ request: Request) throws(ControlError) -> Request.Answer
    where Request.Answer: Decodable {
        let deadline = Request.answerLimit.map { ContinuousClock.now + min($0, quickLimit) }
        return try ControlClient.decode(
            try ControlConnection(socketPath: socket).wholeAnswer(HTTPRequest(request), deadline: deadline))
    }

    package func send<Request: ControlRequest>(_ request: Request) throws(ControlError) where Request.Answer == Done {
        let _: Done = try send(request)
    }

    /// Writes the bytes of a version to a new file, with mode 0600; waits for the store if they are not local.
    ///
    /// The file is removed again unless it is complete.
    package func send(_ request: VersionContentRequest, into file: String) throws(ControlError) {
        let descriptor = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .refused(FileError(systemCall: errno, "cannot create \(file)")) }
        defer { close(descriptor) }
        do throws(ControlError) {
            let connection = ControlConnection(socketPath: socket)
            try connection.run(HTTPRequest(request), deadline: nil) {
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
