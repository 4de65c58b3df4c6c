import Model
import Testing

@testable import Ubiquity

@Suite struct MetadataScopeTests {
    @Test func `what is in a package is hidden, unless the search is in the package`() {
        func hides(_ path: String, _ directories: [String] = [""]) -> Bool {
            MetadataScope(mountpoint: "/mnt/notes", directories: directories)
                .hides(.sample(path), isPackage: ProgramInfo([:]).isPackage)
        }
        #expect(hides("Documents/a.rtfd/TXT.rtf") && hides("A.RTFD/d/e.rtfd"))
        #expect(!hides("Documents/a.rtfd") && !hides("Documents/rtfd/TXT.rtf"))
        #expect(!hides("a.rtfd/TXT.rtf", ["a.rtfd"]) && !hides("a.rtfd/d/f", ["a.rtfd/d"]))
        #expect(hides("a.rtfd/TXT.rtf", ["b"]))
    }

    @Test func `the Documents scope is everything below Documents, the Data scope everything else`() {
        let documents = MetadataScope(mountpoint: "/m", hasDocuments: true)
        let data = MetadataScope(mountpoint: "/m", hasData: true)
        for (path, isDocument, isData) in [
            ("", false, false), ("Documents", false, false), ("Documents/a", true, false),
            ("Documents/d/a", true, false),
            ("Documents33/a", false, true), ("a", false, true), ("d/Documents/a", false, true),
        ] {
            #expect(documents.contains(.sample(path)) == isDocument, "\(path)")
            #expect(data.contains(.sample(path)) == isData, "\(path)")
        }
        #expect(!data.contains(.sample("a", isUbiquitous: false)))
        #expect(documents.followedPath == "" && data.followedPath == "")
    }

    @Test func `a directory is a scope, without itself`() {
        let scope = MetadataScope(mountpoint: "/m", directories: ["a/b", "a/bc"])
        #expect(scope.followedPath == "a")
        #expect(scope.contains(.sample("a/b/x", isUbiquitous: false)))
        #expect(scope.contains(.sample("a/bc/x")))
        #expect(!scope.contains(.sample("a/b")) && !scope.contains(.sample("a/bd/x")))
        #expect(MetadataScope(mountpoint: "/m", directories: ["a/b"]).followedPath == "a/b")
        #expect(MetadataScope(mountpoint: "/m", directories: ["a", ""]).followedPath == "")
        #expect(MetadataScope(mountpoint: "/m", directories: [""]).contains(.sample("x")))
    }
}
