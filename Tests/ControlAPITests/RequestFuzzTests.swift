import ControlAPI
import Foundation
import Model
import Mutations
import Testing

/// Arbitrary input on the control socket is either decoded or rejected, without a crash or excessive memory use.
@Suite struct RequestFuzzTests {
    /// Every order, with all that its body may have.
    private static let orders: [any ControlOrder] =
        ControlRequests.all.compactMap { ($0 as? any ControlOrder.Type)?.example }
        + [
            EvictRequest(path: "a/b", report: true), CheckRequest(bytes: true), LinkRequest(link: nil),
            PauseRequest(path: "", paused: false), GarbageRequest(graceSeconds: nil, dryRun: false),
        ]

    /// A valid example of every session line.
    private static let lines = [
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

    private static func take(_ order: some ControlOrder, _ text: [UInt8]) throws -> Bool {
        try take(type(of: order), text)
    }

    @Test func `mutated requests are decoded or rejected without a crash`() throws {
        let bodies = try Self.orders.map { try #require(try $0.body) } + Self.lines.map { Data($0.utf8) }
        let good = try bodies.map { try JSONSerialization.jsonObject(with: $0) }
        var understood = 0
        for seed in 0..<JSONMutation.count {
            var mutation = JSONMutation(seed: seed)
            let text = try mutation.text(of: good[Int(seed) % good.count])
            for order in Self.orders where try Self.take(order, text) { understood += 1 }
            if try Self.take(SessionRequest.self, text) { understood += 1 }
            let query = String(decoding: text, as: UTF8.self)
            _ = try? FollowRequest(query: ControlQuery(target: "/v1/items/follow?path=" + query))
            _ = try? VersionContentRequest(query: ControlQuery(target: "/v1/items/versions/content?path=a&id=" + query))
        }
        #expect(understood > 0)
        if JSONMutation.isAlone { #expect(JSONMutation.peakByteCount < 300 << 20) }
    }
}
