import ControlAPI
import FileSystem
import Hummingbird
import Model

/// Tells one client what happens at and below a path, until he goes away.
struct EventStream: Sendable {
    let fileSystem: FileSystem

    /// - Throws: ``FileError`` when there is nothing at the path, or too many follow.
    func respond(to request: Request, path: String) throws(FileError) -> Response {
        try fileSystem.admitFollower(of: path)
        return Response(
            status: .ok, headers: [.contentType: "application/jsonl", .connection: "close"],
            body: ResponseBody { writer in
                // Only now: an answer that cannot be begun would leave the follower behind.
                let stream = LineStream<ItemNews>()
                let follower = try fileSystem.follow(path) { stream.send($0) }
                defer { fileSystem.unfollow(follower) }
                do {
                    try await request.body.consumeWithCancellationOnInboundClose { _ in
                        try await stream.write(to: &writer)
                    }
                } catch is CancellationError {
                    // The client is gone.
                }
                try await writer.finish(nil)
            })
    }
}
