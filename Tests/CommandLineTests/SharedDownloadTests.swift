import Foundation
import Testing

@testable import dewpoint

/// Where `dewpoint open-share` saves a file, and which links it takes.
@Suite struct SharedDownloadTests {
    @Test(arguments: ["a.txt", "Ü 1.pdf", "日本語", "a.b.c"])
    func `a file is saved under the name in the link, or where the user wants it`(name: String) throws {
        let directory = FileManager.default.temporaryDirectory.path
        #expect(try SharedDownload.target(nil, named: name) == name)
        #expect(try SharedDownload.target(directory, named: name) == "\(directory)/\(name)")
        #expect(try SharedDownload.target("/", named: name) == "/\(name)")
        #expect(try SharedDownload.target("\(directory)/none/x", named: name) == "\(directory)/none/x")
    }

    @Test(arguments: [
        "", ".", "..", "a/b", "/etc/passwd", ".bashrc", "a\u{0}b", "a\nb", "a\u{1b}[2J", "gepj\u{202e}txt.exe",
        String(repeating: "a", count: 256),
    ])
    func `a name that leads elsewhere or misleads is not used`(name: String) throws {
        for output in [nil, FileManager.default.temporaryDirectory.path] {
            let failure = #expect(throws: CommandFailure.self) { try SharedDownload.target(output, named: name) }
            #expect(failure?.status == .usage)
            #expect(
                failure?.sentence
                    == "the name in the link is not used, since it may mislead; name the file with --output FILE")
        }
        #expect(try SharedDownload.target("x", named: name) == "x")
    }

    @Test(arguments: [
        "http://h:99999", "http://h:65536", "http://h:0", "http://h:99999999999999999999", "ftp://h", "http://", "h",
    ])
    func `a link to what is no address is refused`(place: String) throws {
        let key = String(repeating: "A", count: 43)
        let link = "\(place)/shares/1.html?X=1#2.\(key).n?X=2"
        let failure = #expect(throws: CommandFailure.self) { _ = try SharedDownload.parse(link) }
        #expect(failure?.status == .usage && failure?.sentence.hasPrefix("the link leads nowhere: ") == true)
        let last = "http://h:65535/shares/1.html?X=1#2.\(key).n?X=2"
        _ = try SharedDownload.parse(last)
    }

    @Test func `a link of another kind is refused with what it is`() throws {
        for (text, words) in [
            ("https://h/shares/1?X=1", "this is no link to a file of an encrypted container"),
            ("https://h/index.html", "this is no link to a file of an encrypted container"),
            ("https://h/shares/1.html?X=1", "the part of the link from # on is missing"),
            ("https://h/shares/1.html?X=1#", "the part of the link from # on is missing"),
            ("https://h/shares/1.html?X=1#9.k.n?X=2", "another version of Dewpoint"),
            ("https://h/shares/1.html?X=1#2.k", "a part of the link is missing"),
        ] {
            let failure = #expect(throws: CommandFailure.self) { _ = try SharedDownload.parse(text) }
            #expect(failure?.status == .usage && failure?.sentence.contains(words) == true)
        }
    }
}
