import Control
import ControlAPI
import FileSystem
import Foundation
import Hummingbird
import Model
import NIOCore
import ServiceLifecycle

extension FollowRequest: AnsweredRequest {
    static func answer(_ exchange: ControlExchange) throws -> Response {
        try FollowStream(fileSystem: exchange.daemon.fileSystem, disconnect: exchange.context.disconnect)
            .respond(to: exchange.request, path: try Self(query: exchange.query).item)
    }
}

/// Sends one client the items at and below a path, then their changes, until it disconnects.
///
/// Lines are made as fast as the client reads them. One that stops reading is disconnected when too many changes wait
/// for it; see ``ItemFeed``.
private struct FollowStream: Sendable {
    let fileSystem: FileSystem
    /// Closes the connection.
    let disconnect: @Sendable () -> Void

    /// - Throws: ``FileError`` when there is nothing at the path, or at the limit of clients.
    func respond(to request: Request, path: String) throws(FileError) -> Response {
        _ = try fileSystem.resolve(path)
        try fileSystem.followers.admit()
        return Response(
            status: .ok, headers: [.contentType: "application/jsonl", .connection: "close"],
            body: ResponseBody { writer in
                // Only now: an answer that cannot be started would leave the follower behind.
                var feed = try ItemFeed(fileSystem, below: path)
                defer { feed.end() }
                do {
                    try await request.body.consumeWithCancellationOnInboundClose { _ in
                        try await write(&feed, to: &writer)
                    }
                } catch is CancellationError {
                    // The client has disconnected.
                }
                try await writer.finish(nil)
            })
    }

    private func write(_ feed: inout ItemFeed, to writer: inout any ResponseBodyWriter) async throws {
        let (stop, overflow) = (feed.stop, feed.overflow)
        try await withGracefulShutdownHandler {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { [disconnect] in
                    await overflow()
                    // Ends the write that the client does not read.
                    if !Task.isCancelled { disconnect() }
                }
                defer { group.cancelAll() }
                try await writeLines(of: &feed, to: &writer)
            }
        } onGracefulShutdown: {
            stop()
        }
    }

    @concurrent private func writeLines(of feed: inout ItemFeed, to writer: inout any ResponseBodyWriter) async throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        while true {
            var lines = ByteBuffer()
            do throws(FileError) {
                let updates = try await feed.next()
                for update in updates {
                    lines.writeBytes(try encode(update, encoder))
                    lines.writeInteger(UInt8(ascii: "\n"))
                }
            } catch {
                // Ended by the daemon's shutdown, or by the client.
                if error.code == .interrupted { return }
                throw error
            }
            try await writer.write(lines)
        }
    }

    private func encode(_ update: ItemUpdate, _ encoder: JSONEncoder) throws(FileError) -> Data {
        do {
            return try encoder.encode(update)
        } catch {
            throw FileError(.inputOutput, "a status cannot be written: \(error)", cause: error)
        }
    }
}
