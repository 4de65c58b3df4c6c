import DocumentationTables
import Foundation
import Testing

@testable import Model

@Suite struct ItemStatusTests {
    @Test func `the page Semantics lists the members of a status`() throws {
        var status = ItemStatus(path: "d/f", kind: .file)
        (status.item, status.lastEditor, status.etag) = (.root, "desk", "1")
        status.downloadingError = ItemFault(code: 640, text: "full")
        status.uploadingError = ItemFault(code: 640, text: "full")
        (status.created, status.modified, status.contentType, status.displayName) = ("", "", "public.data", "f")
        status.hasPreview = true
        let members = try #require(
            try JSONSerialization.jsonObject(with: JSONEncoder().encode(status)) as? [String: Any])
        let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Sources/Model/Documentation.docc/Semantics.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        let row = try #require(text.firstMatch(of: /\| `status` \| ([^;]*); without those/)).output.1
        // The name that an attribute has here is no member.
        let listed = row.matches(of: /`(\w+)`/).map { String($0.output.1) }.filter { $0 != "syncPaused" }
        #expect(listed.sorted() == members.keys.sorted())
    }

    @Test func `the page Semantics lists every extended attribute as it is declared`() throws {
        let declared = ItemAttribute.rows.map(DocumentationTable.line)
        let page = DocumentationTable(page: "Semantics", columns: ["name", "value", "settable"])
        #expect(try page.lines(declared: declared) == declared)
    }

    @Test func `every attribute is declared once, in the names of Apple's constants`() {
        #expect(ItemAttributes.all.count == Mirror(reflecting: ItemAttributes.table).children.count)
        let names = ItemAttributes.all.compactMap(\.name) + ItemAttributes.all.compactMap(\.urlKey)
        #expect(Set(names).count == names.count)
        let keys = ItemAttribute.inQueries.compactMap(\.metadataKey)
        #expect(Set(keys).count == keys.count)
        for attribute in ItemAttributes.all {
            #expect(attribute.name != nil || attribute.metadataKey != nil)
            #expect((attribute.name == nil) == attribute.documentation.isEmpty)
        }
    }
}
