import Control
import ControlAPI
import Foundation
import Hummingbird
import Model

/// A request that has arrived, and what its answer needs.
struct ControlExchange: Sendable {
    let request: Request
    let context: ControlContext
    let peer: ControlContext.Peer
    let daemon: ControlledDaemon
    let monitoring: Monitoring

    var query: ControlQuery { ControlQuery(target: request.head.path ?? "") }

    /// Runs work that ends when the client disconnects.
    func whileConnected(_ work: @Sendable (RequestBody) async throws -> Response) async throws -> Response {
        var response = try await request.body.consumeWithCancellationOnInboundClose(work)
        // Watching for the client's disconnect has consumed the rest of the connection.
        response.headers[.connection] = "close"
        return response
    }

    /// - Throws: ``FileError`` with `tooLarge`.
    static func collect(_ body: RequestBody) async throws -> Data {
        var data = Data()
        for try await buffer in body {
            data.append(contentsOf: buffer.readableBytesView)
            guard data.count <= ControlRequests.bodyByteLimit else {
                throw FileError(.tooLarge, "a request body has at most \(ControlRequests.bodyByteLimit >> 10) KiB")
            }
        }
        return data
    }
}
