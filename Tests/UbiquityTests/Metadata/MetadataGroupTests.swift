import Model
import Testing

@testable import Ubiquity

@Suite(.timeLimit(.minutes(1))) struct MetadataGroupTests {
    private static func gathered(_ items: [ItemStatus]) async throws -> NSMetadataQuery {
        let daemon = FakeDaemon(items)
        let query = NSMetadataQuery(stream: daemon.stream) { _ in
            [MetadataScope(mountpoint: "/mnt/notes", hasDocuments: true, hasData: true)]
        }
        query.operationQueue = OperationQueue()
        query.sortDescriptors = [NSSortDescriptor(key: NSMetadataItemFSNameKey, ascending: true)]
        query.start()
        try await eventually("it gathers") { !query.isGathering }
        return query
    }

    @Test func `results are counted and grouped by their values`() async throws {
        let query = try await Self.gathered([
            .sample("a.pdf", size: 1), .sample("b.pdf", size: 2), .sample("c", kind: .directory, size: 1),
        ])
        defer { query.stop() }
        query.valueListAttributes = [NSMetadataItemFSSizeKey, NSMetadataItemContentTypeKey]
        let sizes = try #require(query.valueLists[NSMetadataItemFSSizeKey])
        #expect(sizes.map { $0.value as? Int } == [1, 2] && sizes.map(\.count) == [2, 1])
        #expect(query.valueLists.count == 2 && sizes.allSatisfy { $0.attribute == NSMetadataItemFSSizeKey })
        #expect(query.groupedResults.isEmpty)
        query.groupingAttributes = [NSMetadataItemContentTypeKey, NSMetadataItemFSSizeKey]
        let groups = query.groupedResults
        #expect(groups.map { $0.value as? String } == ["com.adobe.pdf", "public.folder"])
        #expect(groups.map(\.resultCount) == [2, 1])
        #expect(groups[0].subgroups?.map { $0.value as? Int } == [1, 2])
        let first = groups[0].subgroups?[1].result(at: 0) as? NSMetadataItem
        #expect(first?.value(forAttribute: NSMetadataItemFSNameKey) as? String == "b.pdf")
        #expect(groups[0].subgroups?[0].subgroups == nil)
    }

    @Test func `a package is one result, with a type of its own`() async throws {
        var package = ItemStatus.sample("p.rtfd", kind: .directory)
        package.contentType = "com.apple.rtfd"
        let query = try await Self.gathered([package, .sample("p.rtfd/TXT.rtf"), .sample("a.pdf")])
        defer { query.stop() }
        let items = query.results.compactMap { $0 as? NSMetadataItem }
        #expect(items.map { $0.value(forAttribute: NSMetadataItemFSNameKey) as? String } == ["a.pdf", "p.rtfd"])
        #expect(items.last?.value(forAttribute: NSMetadataItemContentTypeKey) as? String == "com.apple.rtfd")
    }
}
