import Daemon
import NamedMounts
import Testing

@Suite struct MountNameTests {
    @Test(arguments: ["notes", "a", "My.notes_2-b", "0", "_x", String(repeating: "n", count: 64)])
    func `names of letters, digits, dots, underscores and dashes are accepted`(_ text: String) throws {
        #expect(try MountName(text).description == text)
    }

    @Test(
        arguments: [
            "", "-n", ".n", "a b", "a/b", "a@b", "ä", "a\n", "a\u{0}", "n\u{301}", String(repeating: "n", count: 65),
        ])
    func `other names are refused with what is allowed`(_ text: String) throws {
        let error = try #require(throws: DaemonError.self) { try MountName(text) }
        #expect(error.kind == .usage)
        #expect(
            error.description.hasSuffix(
                "cannot be the name of a mount; use 1 to 64 of the letters a-z and A-Z, digits, . _ and -, and begin with "
                    + "none of . and -"))
    }
}
