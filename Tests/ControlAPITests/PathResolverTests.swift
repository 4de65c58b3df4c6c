import Testing

@testable import ControlAPI

@Suite struct PathResolverTests {
    private let resolver = PathResolver(
        isMountpoint: { $0 == "/mnt/notes" },
        readLink: { path in
            // Nothing below the mountpoint may be accessed: the mount may hang.
            #expect(!path.hasPrefix("/mnt/notes"))
            return ["/home/me/link": "../../mnt/notes/Documents", "/data": "/mnt", "/a": "/b", "/b": "/a"][path]
        })

    @Test(arguments: [
        ("x", "/home/me/x"),
        ("./x//y/.", "/home/me/x/y"),
        ("../you/", "/home/you"),
        ("/", "/"),
        ("/../..", "/"),
        ("/mnt/notes/a/../b", "/mnt/notes/b"),
        ("/mnt/notes/../x", "/mnt/x"),
        ("link/a", "/mnt/notes/Documents/a"),
        ("/data/notes/a", "/mnt/notes/a"),
    ])
    func `a path is made absolute, and links are resolved up to the mountpoint`(path: String, expected: String) {
        #expect(resolver.resolve(path, from: "/home/me") == expected)
    }

    @Test func `a path through a cycle of links is not resolved`() {
        #expect(resolver.resolve("/a/x", from: "/") == nil)
    }
}
