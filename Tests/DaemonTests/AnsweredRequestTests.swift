import ControlAPI
import Testing

@testable import Daemon

@Suite struct AnsweredRequestTests {
    @Test func `the daemon answers every request`() {
        for type in ControlRequests.all {
            #expect(type is any AnsweredRequest.Type, "\(type) is not performed")
            #expect(ControlResponder.routes[type.route]?.contains { $0.method == type.method } ?? false)
        }
    }
}
