import Control
import ControlAPI
import FileSystem
import Hummingbird
import Model
import ServiceLifecycle

extension VersionContentRequest: AnsweredRequest {
    static func answer(_ exchange: ControlExchange) async throws -> Response {
        let question = try Self(query: exchange.query)
        let bytes = try await cancelWhenGracefulShutdown {
            try await exchange.daemon.versions.versionBytes(question.item, id: question.id)
        }
        return Response(
            status: .ok, headers: [.contentType: "application/octet-stream"],
            body: ResponseBody(contentLength: Int(bytes.byteCount)) { writer in
                var bytes = bytes
                // An error breaks the connection: the client sees that bytes are missing from the announced length.
                while let piece = try await bytes.next() { try await writer.write(ByteBuffer(bytes: piece)) }
                try await writer.finish(nil)
            })
    }
}
