import Foundation
import Testing

@testable import Replica

@Suite struct DiskReserveTests {
    @Test func `what one change uses of the reserve is not taken back when another ends`() throws {
        let lab = try Lab()
        let state = ReplicaDirectory(lab.path)
        func isThere() -> Bool { FileManager.default.fileExists(atPath: "\(lab.path)/\(state.reserveName)") }
        let reserve = try DiskReserve(state)
        #expect(isThere())
        reserve.lend {
            #expect(!isThere())
            // A removal that found enough space, and one that did not.
            reserve.hold()
            #expect(!isThere())
            reserve.lend { #expect(!isThere()) }
            #expect(!isThere())
        }
        #expect(isThere())
    }
}
