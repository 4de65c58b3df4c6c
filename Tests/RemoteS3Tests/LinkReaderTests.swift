import Foundation
import Remote
import Testing

@testable import RemoteS3

/// Reading by a link, without keys.
@Suite struct LinkReaderTests {
    private func read(_ server: ScriptedServer) async throws -> [UInt8] {
        try await LinkReader(variables: [:]).get("\(server.url)/b/shares/1?X-Amz-Signature=s", key: "the file")
            .collect(upTo: 1000)
    }

    @Test func `the bytes are read with one request that names nobody`() async throws {
        let server = try ScriptedServer { _ in .answer(200, ["ETag": "e"], Array("hello".utf8)) }
        #expect(try await read(server) == Array("hello".utf8))
        #expect(server.requests.map(\.target) == ["/b/shares/1?X-Amz-Signature=s"])
        #expect(server.requests[0].headers["authorization"] == nil)
    }

    @Test func `a link that has ended, leads on or is not answered is told apart`() async throws {
        for (status, code) in [
            (403, .notFound), (404, .notFound), (302, .invalid), (307, .invalid), (500, .unavailable),
            (206, .unavailable),
        ] as [(Int, StoreError.Code)] {
            let server = try ScriptedServer { _ in .answer(status, ["Location": "/elsewhere"], [1]) }
            await #expect(throws: StoreError(code, key: "the file"), "\(status)") { _ = try await read(server) }
            #expect(server.requests.count == 1)
        }
        let silent = try ScriptedServer { _ in .reset }
        await #expect(throws: StoreError(.unavailable, key: "the file")) { _ = try await read(silent) }
    }

    @Test func `a transfer that breaks is continued with the same object, and with no other`() async throws {
        for (etag, isSame) in [("e", true), ("f", false)] {
            let server = try ScriptedServer { request in
                request.headers["range"] == "bytes=3-"
                    ? .answer(206, ["ETag": etag, "Content-Range": "bytes 3-5/6"], Array("def".utf8))
                    : .part(200, ["ETag": "e", "Content-Length": "6"], Array("abc".utf8))
            }
            if isSame {
                #expect(try await read(server) == Array("abcdef".utf8))
            } else {
                await #expect(throws: StoreError(.unavailable, key: "the file")) { _ = try await read(server) }
            }
            #expect(server.requests.count == 2)
        }
    }
}
