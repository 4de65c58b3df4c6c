import ControlAPI
import Testing

@Suite struct ControlQueryTests {
    @Test(arguments: [
        "", "a", "a b/c+d&e=f?g#h%20", "e\u{301}\u{e9}", "emoji 🙂\n\u{1}", "\u{feff}a/\u{feff}", "\u{301}a/\u{301}b",
        "\u{200d}/\u{200d}", "\u{fe0f}a", "\u{e31}a/\u{e31}",
    ])
    func `a path round-trips through the query byte for byte`(path: String) throws {
        let target = "/v1/items/status?" + ControlQuery.text(path: path)
        #expect(target.utf8.allSatisfy { 0x21...0x7e ~= $0 })
        #expect(Array(try #require(ControlQuery.path(in: target)).utf8) == Array(path.utf8))
    }

    @Test(arguments: ["/v1/items/status", "/v1/items/status?", "/v1/items/status?p=a", "/v1/items/status?path=%ff"])
    func `a query without a valid path is rejected`(target: String) {
        #expect(ControlQuery.path(in: target) == nil)
    }

    @Test(arguments: ["", "a&limit=3", "e\u{301}+%=?", "\u{feff}a", "\u{301}"])
    func `the name after which a listing goes on round-trips byte for byte`(name: String) throws {
        let target = "/v1/items?" + ControlQuery.text(path: "a&after=b", after: name, limit: 7)
        #expect(ControlQuery.path(in: target) == "a&after=b")
        #expect(Array(try #require(ControlQuery.after(in: target)).utf8) == Array(name.utf8))
        #expect(ControlQuery.limit(in: target) == "7")
        let first = "/v1/items?" + ControlQuery.text(path: "a", after: nil, limit: nil)
        #expect(ControlQuery.after(in: first) == nil)
        #expect(ControlQuery.limit(in: first) == nil)
    }

    @Test func `other fields of a query are ignored`() {
        #expect(ControlQuery.path(in: "/x?a=b&path=c%2Fd&e=f") == "c/d")
    }
}
