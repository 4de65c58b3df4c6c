import Coordination
import Foundation
import Model
import Testing

@Suite struct ClaimListingTests {
    var stage = ClaimStage()

    @Test mutating func `the listing shows the claims and presenters of each item`() throws {
        try stage.register(presenter(1, of: folder), presenter(2, of: plainFile(nil, in: [root], "planned")))
        try stage.hold(claims(1, [(.write(.forMerging), document)]))
        stage.now = .ms(1000)
        _ = try stage.request(
            claims(2, [(.read([.withoutChanges, .forUploading]), document), (.write(.forMoving), stranger)]))
        _ = try stage.request(claims(3, [(.write(.plain), folder)]))
        _ = try stage.request(claims(4, [(.write(.forReplacing), plainFile(nil, in: [root], "draft"))], mode: .access))
        #expect(stage.open(by: ann) == .parked)
        let rename = NameChange(Ticket(9), of: [document], by: bob.process, ancestors: [])
        #expect(stage.table.nameChange(rename, now: stage.now).verdict == .parked)

        let nodes = stage.table.snapshot(now: .ms(3000))
        #expect(nodes.map(\.inode) == [root, file, otherFile, InodeNumber(20)])
        let node = nodes[1]
        #expect(node.name == name("document"))
        #expect(node.parent == InodeNumber(20))
        #expect(node.claims.map(\.set) == [1, 2])
        #expect(node.claims.map(\.state) == [.granted, .waiting])
        #expect(node.claims.map(\.options) == [["forMerging"], ["withoutChanges", "forUploading"]])
        #expect(node.claims.map(\.waitsFor) == [[], [.claims(1)]])
        #expect(node.claims.map(\.waitsForProcesses) == [[], [ProcessID(101)]])
        #expect(node.claims.map(\.age) == [.seconds(3), .seconds(2)])
        #expect(node.waiters.map(\.kind) == [.open, .nameChange])
        #expect(node.waiters.map(\.waitsFor) == [[ProcessID(101)], [ProcessID(101)]])
        #expect(nodes[3].presenters.map(\.id) == [1])
        #expect(nodes[3].presenters.map(\.unanswered) == [[.relinquishToWriter]])
        #expect(nodes[3].claims.map(\.state) == [.messaging])
        // An item that does not exist yet is listed at its parent directory.
        #expect(nodes[0].claims.map(\.name) == [name("draft")])
        #expect(nodes[0].presenters.map(\.name) == [name("planned")])

        let listing = node.listing(path: "folder/document") { "program\($0.rawValue)" }
        #expect(listing.holders.map(\.kind) == ["write claim"])
        #expect(listing.holders.map(\.detail) == ["forMerging, purpose purpose 1"])
        #expect(listing.waiters.map(\.kind) == ["read claim", "open", "name change"])
        #expect(listing.waiters.map(\.waitsFor) == [[101], [101], [101]])
    }

    @Test mutating func `a claim that waits for a turn lists the process that has the turn`() throws {
        #expect(stage.open(by: ann) == .proceed)
        _ = try stage.request(claims(1, [(.write(.plain), document)]))
        let claim = try #require(stage.table.snapshot(now: .ms(0)).flatMap(\.claims).first)
        #expect(claim.waitsFor == [.writes(file)])
        #expect(claim.waitsForProcesses == [ann.process])
    }

    @Test mutating func `a listing of claims survives encoding to JSON and decoding`() throws {
        try stage.register(presenter(1, of: document))
        _ = try stage.request(claims(1, [(.write(.forDeleting), document)]))
        let nodes = stage.table.snapshot(now: .ms(2))
        #expect(nodes.flatMap(\.claims).count == 1)
        let back = try JSONDecoder().decode([NodeListing].self, from: JSONEncoder().encode(nodes))
        #expect(back == nodes)
    }
}
