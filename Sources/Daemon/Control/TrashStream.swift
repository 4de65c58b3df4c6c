import Control
import ControlAPI
import FileSystem
import Foundation
import Hummingbird
import NIOCore

extension TrashRequest: AnsweredRequest {
    static func answer(_ exchange: ControlExchange) async throws -> Response {
        try await exchange.whileConnected { _ in try await list(exchange.daemon) }
    }

    /// Away from the event loop, which must see when the client disconnects: then the work ends.
    @concurrent private static func list(_ daemon: ControlledDaemon) async throws -> Response {
        TrashStream(listing: try TrashRequest().listing(in: daemon)).response
    }
}

/// Sends the deleted items as one JSON array, each on a line of its own, as fast as the client reads them: the paths of
/// thousands of deep items take tens of megabytes.
private struct TrashStream: Sendable {
    let listing: TrashListing

    /// How many items are encoded at a time: less than 1 MiB of paths.
    private static let itemsPerStep = 128

    var response: Response {
        Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: ResponseBody { writer in
                try await write(to: &writer)
                try await writer.finish(nil)
            })
    }

    @concurrent private func write(to writer: inout any ResponseBodyWriter) async throws {
        var listing = listing
        var separator = "[\n"
        var isOver = false
        while !isOver {
            var lines = ByteBuffer()
            for _ in 0..<Self.itemsPerStep {
                guard let item = listing.next() else {
                    isOver = true
                    break
                }
                lines.writeString(separator)
                lines.writeBytes(try ControlJSON.encode(item))
                separator = ",\n"
            }
            if isOver { lines.writeString(separator == "[\n" ? "[]\n" : "\n]\n") }
            try await writer.write(lines)
        }
    }
}
