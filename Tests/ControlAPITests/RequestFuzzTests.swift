import ControlAPI
import Foundation
import Model
import Mutations
import Testing

/// Arbitrary input on the control socket is either decoded or rejected, without a crash or excessive memory use.
@Suite struct RequestFuzzTests {
    /// A valid example of every request body and session line.
    private static let requests = [
        #"{"path":"a/b"}"#, #"{"path":"a","keep":"newest"}"#, #"{"path":"a","id":"commit-7"}"#,
        #"{"item":"00000000-0000-4000-8000-000000000001"}"#, #"{"path":"a","wait":true}"#,
        #"{"path":"a","pinned":true}"#,
        #"{"path":"","paused":false}"#, #"{"discard":true}"#, #"{"wait":true}"#, #"{"bytes":true}"#,
        #"{"graceSeconds":604800,"dryRun":true}"#, #"{"lazily":false}"#, #"{"id":7}"#,
        #"{"process":42,"allowed":true}"#,
        #"{"claim":{"claim":1,"coordinator":"c","fromPresenter":8,"items":[{"path":"a","reading":["forUploading"]}],"#
            + #""mode":"batch","presenter":7,"purpose":"p","timeoutSeconds":10,"within":[2]}}"#,
        #"{"release":{"claim":1}}"#, #"{"cancel":{"claim":1}}"#, #"{"cancelCoordinator":{"coordinator":"c"}}"#,
        #"{"present":{"methods":["save"],"observedAttributes":["a"],"path":"a","presenter":7,"purpose":"p"}}"#,
        #"{"withdraw":{"presenter":7}}"#, #"{"answer":{"error":"e","question":3,"reacquires":true}}"#,
        #"{"packages":{"extensions":["csdoc","b"]}}"#,
    ]

    /// - Returns: Whether the text was decoded.
    private static func take<Request: Codable & Equatable>(_ type: Request.Type, _ text: [UInt8]) throws -> Bool {
        guard let request = try? ControlJSON.decode(type, from: Data(text)) else { return false }
        // A decoded request is equal after it is encoded and decoded again.
        #expect(try ControlJSON.decode(type, from: try ControlJSON.encode(request)) == request)
        return true
    }

    private static let takers: [@Sendable ([UInt8]) throws -> Bool] = [
        { try take(PathRequest.self, $0) }, { try take(ResolveRequest.self, $0) },
        { try take(RestoreVersionRequest.self, $0) }, { try take(RestoreDeletedRequest.self, $0) },
        { try take(DownloadRequest.self, $0) }, { try take(PinRequest.self, $0) }, { try take(PauseRequest.self, $0) },
        { try take(DeletionsRequest.self, $0) }, { try take(SyncRequest.self, $0) },
        { try take(CheckRequest.self, $0) },
        { try take(GarbageRequest.self, $0) }, { try take(UnmountRequest.self, $0) },
        { try take(BreakRequest.self, $0) },
        { try take(StormAnswerRequest.self, $0) }, { try take(SessionRequest.self, $0) },
    ]

    @Test func `mutated requests are decoded or rejected without a crash`() throws {
        let good = try Self.requests.map { try JSONSerialization.jsonObject(with: Data($0.utf8)) }
        var understood = 0
        for seed in 0..<JSONMutation.count {
            var mutation = JSONMutation(seed: seed)
            let text = try mutation.text(of: good[Int(seed) % good.count])
            for take in Self.takers where try take(text) { understood += 1 }
            let query = String(decoding: text, as: UTF8.self)
            _ = ControlQuery.path(in: "/v1/items/follow?path=" + query)
            _ = ControlQuery.version(in: "/v1/items/versions/content?path=a&id=" + query)
        }
        #expect(understood > 0)
        if JSONMutation.isAlone { #expect(JSONMutation.peakByteCount < 300 << 20) }
    }
}
