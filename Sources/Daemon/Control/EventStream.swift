import Control
import ControlAPI
import FileSystem
import Hummingbird
import Model

extension EventsRequest: AnsweredRequest {
    /// Sends one client the events at and below a path, until it disconnects.
    ///
    /// - Throws: ``FileError`` when there is nothing at the path, or at the limit of followers.
    static func answer(_ exchange: ControlExchange) throws -> Response {
        let path = try Self(query: exchange.query).item
        let (request, fileSystem) = (exchange.request, exchange.daemon.fileSystem)
        _ = try fileSystem.resolve(path)
        try fileSystem.events.admit()
        return Response(
            status: .ok, headers: [.contentType: "application/jsonl", .connection: "close"],
            body: ResponseBody { writer in
                // Only now: an answer that cannot be started would leave the follower behind.
                let stream = LineStream<ItemNews>()
                let follower = try fileSystem.events.follow(path) { stream.send($0) }
                defer { fileSystem.events.unfollow(follower) }
                do {
                    try await request.body.consumeWithCancellationOnInboundClose { _ in
                        try await stream.write(to: &writer)
                    }
                } catch is CancellationError {
                    // The client has disconnected.
                }
                try await writer.finish(nil)
            })
    }
}
