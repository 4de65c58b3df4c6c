import ControlAPI
import Foundation
import Testing

/// What the types of ``ControlRequests/all`` declare.
@Suite struct ControlRequestTests {
    @Test func `no method and route is declared twice`() {
        let routes = ControlRequests.all.map { "\($0.method.rawValue) \($0.route)" }
        #expect(Set(routes).count == routes.count)
    }

    @Test func `examples are read as they were sent`() throws {
        for type in ControlRequests.all { try roundTrip(type) }
    }

    private func roundTrip<Request: ControlRequest>(_ type: Request.Type) throws {
        let example = type.example
        if let order = type as? any ControlOrder.Type {
            let body = try #require(try example.body)
            #expect(try order.init(body: body).body == body)
        } else if let question = type as? any ControlQuestion.Type {
            #expect(try example.body == nil)
            #expect(try question.init(query: ControlQuery(target: example.target)).target == example.target)
        }
    }
}
