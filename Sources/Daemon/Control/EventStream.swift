import ControlAPI
import FileSystem
import Hummingbird
import Model

/// Sends one client the events at and below a path, until it disconnects.
struct EventStream: Sendable {
    let fileSystem: FileSystem

    /// - Throws: ``FileError`` when there is nothing at the path, or at the limit of followers.
    func respond(to request: Request, path: String) throws(FileError) -> Response {
        try fileSystem.admitFollower(of: path)
        return Response(
            status: .ok, headers: [.contentType: "application/jsonl", .connection: "close"],
            body: ResponseBody { writer in
                // Only now: an answer that cannot be started would leave the follower behind.
                let stream = LineStream<ItemNews>()
                let follower = try fileSystem.follow(path) { stream.send($0) }
                defer { fileSystem.unfollow(follower) }
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
