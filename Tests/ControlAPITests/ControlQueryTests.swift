import ControlAPI
import Model
import Testing

@Suite struct ControlQueryTests {
    @Test(arguments: [
        "", "a", "a b/c+d&e=f?g#h%20", "e\u{301}\u{e9}", "emoji 🙂\n\u{1}", "\u{feff}a/\u{feff}", "\u{301}a/\u{301}b",
        "\u{200d}/\u{200d}", "\u{fe0f}a", "\u{e31}a/\u{e31}",
    ])
    func `a path round-trips through the query byte for byte`(path: String) throws {
        let target = ItemStatusRequest(path: path).target
        #expect(target.hasPrefix("/v1/items/status?path="))
        #expect(target.utf8.allSatisfy { 0x21...0x7e ~= $0 })
        let read = try ItemStatusRequest(query: ControlQuery(target: target))
        #expect(Array(read.path.utf8) == Array(path.utf8))
    }

    @Test(arguments: ["/v1/items/status", "/v1/items/status?", "/v1/items/status?p=a", "/v1/items/status?path=%ff"])
    func `a query without a valid path is rejected`(target: String) {
        #expect(
            throws: FileError(
                .invalid, "the query must be path=…, below the container's root, percent-encoded")
        ) { try ItemStatusRequest(query: ControlQuery(target: target)) }
    }

    @Test(arguments: ["", "a&limit=3", "e\u{301}+%=?", "\u{feff}a", "\u{301}"])
    func `the name after which a listing goes on round-trips byte for byte`(name: String) throws {
        let target = ListRequest(path: "a&after=b", after: name, limit: 7).target
        let read = try ListRequest(query: ControlQuery(target: target))
        #expect(read.path == "a&after=b")
        #expect(Array(try #require(read.after).utf8) == Array(name.utf8))
        #expect(read.limit == 7)
        #expect(ListRequest(path: "a").target == "/v1/items?path=a")
        #expect(try ListRequest(query: ControlQuery(target: "/v1/items?path=a")) == ListRequest(path: "a"))
    }

    @Test func `other fields of a query are ignored`() {
        #expect(ControlQuery(target: "/x?a=b&path=c%2Fd&e=f")["path"] == "c/d")
    }
}
