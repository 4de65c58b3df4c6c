import Control
import ControlAPI
import Testing

@testable import Daemon

@Suite struct AnsweredRequestTests {
    @Test func `the daemon answers every request, each in one way`() {
        for type in ControlRequests.all {
            let ways = [
                type is any PerformedQuestion.Type, type is any PerformedOrder.Type, type is any DoneOrder.Type,
                type is any AnsweredRequest.Type,
            ]
            #expect(ways.count { $0 } == 1, "\(type)")
        }
    }
}
