package import ControlAPI
import Foundation
import Glibc
import Linux
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
        let target: Descriptor
        do throws(FileError) {
            target = try Descriptor(file, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600, as: "cannot create \(file)")
        } catch {
            throw .refused(error)
        }
        do throws(ControlError) {
            let connection = ControlConnection(socketPath: socket)
            try connection.run(HTTPRequest(request), deadline: nil) {
                bytes throws(ControlError) in
                do throws(FileError) {
                    try bytes.withBytes { bytes throws(FileError) in
                        try target.append(bytes, as: "cannot write \(file)")
                    }
                } catch {
                    throw .refused(error)
                }
            }
        } catch {
            unlink(file)
            throw error
        }
    }
}
