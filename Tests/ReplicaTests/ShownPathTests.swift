import Model
import Testing

@testable import Replica

/// Paths that are too long for any program are shown without their middle.
@Suite struct ShownPathTests {
    private func path(_ names: [String]) -> ShownPath { names.reduce(.root) { $0.appending($1) } }

    @Test func `a path of 4096 bytes is shown whole, and a longer one without its middle`() {
        let whole =
            [String](repeating: String(repeating: "n", count: 63), count: 63) + [String(repeating: "m", count: 64)]
        #expect(path(whole).string == whole.joined(separator: "/") && path(whole).string.utf8.count == 4096)
        let parent = whole.joined(separator: "/")
        #expect(path(whole + ["a"]).string == "\(parent)/\(ShownPath.mark)/a")
        #expect(path(whole + ["a", "b"]).string == "\(parent)/\(ShownPath.mark)/a/b")
        // No name is that long.
        #expect(ShownPath.mark.utf8.count > 255)
    }

    @Test func `however deep an item is, its path begins with the first directories and ends with the last names`() {
        for length in [1, 2, 100, 254, 255] {
            let names = (0..<20_000).map { "\($0)-" + String(repeating: "x", count: length) }.map {
                String($0.prefix(length))
            }
            let text = path(names + ["the last"]).string
            #expect(text.utf8.count <= 4096 + 1 + 258 + 1 + 512, "\(length)")
            #expect(text.hasPrefix(names[0] + "/") && text.hasSuffix("/\(names[19_999])/the last"), "\(length)")
        }
    }

    @Test func `paths are compared by their bytes`() {
        #expect(path(["é"]) != path(["e\u{301}"]))
        #expect(path(["a", "b"]) == path(["a", "b"]) && path(["a", "b"]).hashValue == path(["a", "b"]).hashValue)
    }

    @Test func `names that begin with a combining mark are names`() {
        #expect(Array(path(["a", "\u{301}b"]).string.utf8) == Array("a/".utf8) + Array("\u{301}b".utf8))
        let deep = (0..<200).map { "\u{301}\($0)" + String(repeating: "n", count: 250) }
        #expect(path(deep).string.utf8.count <= 4096 + 1 + 258 + 1 + 512)
    }
}
