import Model
import Testing

@Suite struct ItemPathTests {
    @Test(arguments: [
        ("", []), ("/", []), ("a", ["a"]), ("/a//b/", ["a", "b"]), ("a/\u{301}b", ["a", "\u{301}b"]),
        ("a/\u{200d}/\u{fe0f}/\u{e31}/\u{feff}", ["a", "\u{200d}", "\u{fe0f}", "\u{e31}", "\u{feff}"]),
    ])
    func `a path is split at every byte that is a slash`(path: String, names: [String]) {
        let found = ItemPath(path).components
        #expect(found.map { Array($0.utf8) } == names.map { Array($0.utf8) })
        #expect(ItemPath(ItemPath(found).string).components == found)
    }

    @Test(
        arguments: [
            ("a/b", "a", "b"), ("a", "a", ""), ("a/b", "", "a/b"), ("ab", "a", nil), ("a/\u{301}", "a", "\u{301}"),
            ("/a", "/", "a"), ("/", "/", ""), ("\u{e9}/x", "e\u{301}", nil), ("a", "a/b", nil),
        ] as [(String, String, String?)])
    func `a path is seen from a directory by its bytes`(path: String, directory: String, expected: String?) {
        #expect(ItemPath(path).relative(to: ItemPath(directory)) == expected.map(ItemPath.init))
    }

    @Test func `a path is put behind a directory`() {
        #expect(ItemPath("").appending("a") == "a")
        #expect(ItemPath("a").appending("b/c") == "a/b/c")
        #expect(ItemPath("/").appending("a") == "/a")
        #expect(ItemPath("a").appending("") == "a")
    }

    @Test func `texts that differ in composition only are two keys`() {
        let texts = ["\u{e9}", "e\u{301}", "\u{212a}", "K", "\u{37e}", ";"]
        #expect(Set(texts.map(AttributeName.init)).count == texts.count)
        #expect(Set(texts.map(LinkTarget.init)).count == texts.count)
        #expect(Set(texts).count < texts.count)
        #expect(texts.map(ItemPath.init).sorted().map(\.string.utf8.first) == [0x3b, 0x4b, 0x65, 0xc3, 0xcd, 0xe2])
    }

    @Test(
        arguments: [
            ("%EF%BB%BFa", "\u{feff}a"), ("a%2fb+c", "a/b+c"), ("", ""), ("%", nil), ("%4", nil), ("%4g", nil),
            ("%ff", nil),
            ("%CC%81\u{301}", "\u{301}\u{301}"),
        ] as [(String, String?)])
    func `percent-encoded text is decoded byte for byte`(text: String, expected: String?) {
        #expect(String(percentDecoding: text).map { Array($0.utf8) } == expected.map { Array($0.utf8) })
    }
}
