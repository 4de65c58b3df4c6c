import FileSystem
import Glibc
import Model
import Remote
import TestStores
import Testing

/// Claims of a place where another device puts an item.
@Suite(.virtualTime, .timeLimit(.minutes(5))) struct ClaimedPlaceTests {
    /// What is at the claimed place here.
    enum Occupant: CaseIterable, Sendable {
        case file, nothing
    }

    @Test(arguments: Occupant.allCases)
    func `another device's item comes to a claimed place only after the claim`(occupant: Occupant) async throws {
        let (network, store) = (Network(), MemoryStore())
        let a = try await TestDevice.start(on: store, name: "A")
        let b = try await TestDevice.start(on: network.store(store), name: "B")
        try await converge(a, b)
        // What is here stays here, so that A does not know it.
        network.set { operation, _ in operation == .put || operation == .create ? .failBefore(.unavailable) : nil }
        if occupant == .file { try await b.write("here", to: "report") }
        var ends: [Int32] = [-1, -1]
        #expect(pipe(&ends) == 0)
        let session = try b.fileSystem.claims.open(process: getpid(), descriptor: ends[0]) { _ in
        } whenGone: {
        }
        try b.fileSystem.claims.request(
            ClaimRequest(claim: 1, items: [.init("report", writing: "plain")]), from: session)
        try await a.write("there", to: "report")
        try await a.write("other", to: "other")
        try await converge(a)
        try await pass(.seconds(120))
        #expect(try b.names() == (occupant == .file ? ["report"] : []))
        if occupant == .file { #expect(try await b.read("report") == "here") }
        network.comeBack()
        b.fileSystem.claims.close(session)
        close(ends[1])
        #expect(
            try await holds {
                try b.names().sorted() == (occupant == .file ? ["other", "report", "report 2"] : ["other", "report"])
            })
        #expect(try await b.read("report") == "there")
        try await a.close()
        try await b.close()
    }
}
