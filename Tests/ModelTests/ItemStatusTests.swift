import Foundation
import Testing

@testable import Model

@Suite struct ItemStatusTests {
    @Test func `the page Semantics lists the members of a status`() throws {
        var status = ItemStatus(
            path: "d/f", kind: .file, item: .root, logicalSize: 1, downloadingStatus: .current, percentDownloaded: 100,
            percentUploaded: 100, isDownloading: false, downloadRequested: false, isUploaded: true, isUploading: false,
            pinned: false, isUbiquitousItem: true, lastEditor: "desk", etag: "1", conflictCount: 0,
            isSyncPaused: false, isExcludedFromSync: false, downloadingError: ItemFault(code: 640, text: "full"),
            uploadingError: ItemFault(code: 640, text: "full"))
        (status.created, status.modified, status.contentType, status.displayName) = ("", "", "public.data", "f")
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
}
