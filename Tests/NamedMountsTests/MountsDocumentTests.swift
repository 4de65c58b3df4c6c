import Daemon
import Model
import Testing

@testable import NamedMounts

@Suite struct MountsDocumentTests {
    private static let whole = """
        # My mounts.

        [mounts.notes]   # the first
        url = "s3://my-notes/work"
        mountpoint = "~/Work"
        endpoint = "https://s3.example.com"
        region = "eu-1"
        device_name = "desk"
        state = "/mnt/large/notes-state"
        options = ["free_space=10%", "nosuid"]
        autostart = true
        ignore = ["node_modules/", "*.o"]

        [mounts."b.c"]
        url = 'file:///srv/cloud'
        mountpoint = "/nonexistent/other"
        """

    @Test func `a file with every key is read as it is written`() throws {
        let document = MountsDocument(Self.whole)
        #expect(document.mistakes == [])
        var notes = try NamedMount.test("notes", url: "s3://my-notes/work", at: "~/Work")
        notes.endpoint = "https://s3.example.com"
        notes.region = "eu-1"
        notes.deviceName = "desk"
        notes.state = "/mnt/large/notes-state"
        notes.options = ["free_space=10%", "nosuid"]
        notes.autostart = true
        notes.ignore = ["node_modules/", "*.o"]
        #expect(
            document.mounts == [notes, try .test("b.c", url: "file:///srv/cloud", at: "/nonexistent/other")])
        #expect(MountSurroundings.test().mountpoint(of: notes) == "/nonexistent/home/Work")
    }

    @Test func `an empty file has no mounts`() {
        #expect(MountsDocument("").mounts == [])
        #expect(MountsDocument("# nothing\r\n").mistakes == [])
    }

    @Test(arguments: [
        ("[mounts.a\nurl = 1\n", 1, 10), ("x = \n", 1, 5), ("[mounts.a]\nurl = \"a\"\nurl = \"b\"\n", 3, 7),
    ])
    func `a mistake of TOML is reported with its line and column`(_ text: String, _ line: Int, _ column: Int) throws {
        let problem = try #require(MountsDocument(text).problems.first)
        #expect((problem.line, problem.column) == (line, column))
        #expect(problem.name == nil && problem.sentence.hasPrefix("this is not valid TOML: "))
    }

    /// The parser ends the process at these.
    @Test(arguments: [
        ("[=a]\n", 1, 2), ("[.a]", 1, 2), ("[%]", 1, 2), ("[\n", 1, 2), ("[ #a]", 1, 3), ("[[,a]]", 1, 3),
        ("[[[a]]]", 1, 4), ("[é]", 1, 2), ("[\u{301}]", 1, 2), ("[mounts.a]\nurl = \"[=\"\n[\t}", 3, 3),
        ("\u{FEFF}[\\a]", 1, 3),
    ])
    func `a header without a name is a mistake`(_ text: String, _ line: Int, _ column: Int) {
        let sentence = "this is not valid TOML: a table's name must follow the bracket, as in [mounts.NAME]"
        #expect(
            MountsDocument(text).problems == [.init(name: nil, line: line, column: column, sentence: sentence)])
    }

    /// Frees of the parser's tables take the stack of the process.
    @Test(arguments: ["%", "[%]", "x = {%=1}", "x = [[{a = 1}, {%=1}]]"])
    func `a key of very many parts is a mistake`(_ form: String) throws {
        let limit = 1000
        let deep = Array(repeating: "a", count: limit + 2).joined(separator: ".")
        let problem = try #require(MountsDocument(form.replacing("%", with: deep)).problems.first)
        #expect(problem.sentence == "this is not valid TOML: a key must not have more than \(limit) parts")
        #expect(problem.line == 1 && problem.column > 2 * limit)
    }

    @Test(arguments: ["[]", "[ ]", "[[]]", "[ [a]]", "[\"\"]", "[a", "["])
    func `what the parser refuses by itself is left to it`(_ text: String) {
        #expect(MountsDocument(text).problems.count == 1)
    }

    @Test(arguments: [
        (
            "[mount.a]\n",
            ["1:1: there is no key mount at the top of this file, only tables [mounts.NAME]; did you mean mounts?"]
        ),
        ("mounts = 3\n", ["1:1: mounts must be tables, each written as [mounts.NAME]"]),
        (
            "\n[mounts.a]\n",
            [
                "2:1: the mount a has no url; add a line: url = \"…\"",
                "2:1: the mount a has no mountpoint; add a line: mountpoint = \"…\"",
            ]
        ),
        ("[mounts]\na = 'x'\n", ["2:1: a mount is a table, written as [mounts.a]"]),
    ])
    func `a table that is no mount is reported where it is`(_ text: String, _ expected: [String]) {
        #expect(MountsDocument(text).mistakes == expected)
    }

    @Test(arguments: [
        ("  mount_point = \"/x\"", "4:3: a mount has no key mount_point; did you mean mountpoint?"),
        (
            "colour = 1",
            "4:1: a mount has no key colour; the keys are url, mountpoint, endpoint, region, device_name, state, options, autostart, ignore, rules"
        ),
        ("autostart = \"yes\"", "4:1: autostart must be true or false"),
        ("options = \"ro\"", "4:1: options must be a list of texts, as in [\"…\", \"…\"]"),
        ("options = [\"ro\", 7]", "4:1: options must be a list of texts, as in [\"…\", \"…\"]"),
        (
            "options = [\n  \"ro\", # a comment\n  \"turn_quite=1s\"]",
            "6:3: there is no mount option turn_quite; did you mean turn_quiet?"
        ),
        ("region = \"\"", "4:1: region has an empty text; remove it"),
        ("region = \"a b\"", "2:1: s3://bucket/notes cannot be used: a b is not a region; use one such as eu-west-1"),
        ("state = \"relative\"", "4:1: state must be an absolute path, or begin with ~/, not relative"),
        ("device_name = \"a\\u001bb\"", "4:1: device_name has a control character"),
        (
            "state = \"/nonexistent/Work/state\"",
            "4:1: the state directory /nonexistent/Work/state and the mountpoint /nonexistent/Work must not contain each other; choose another state directory"
        ),
    ])
    func `a wrong key or value is reported where it is`(_ line: String, _ expected: String) {
        let text = "[mounts.a]\nurl = \"s3://bucket/notes\"\nmountpoint = \"/nonexistent/Work\"\n\(line)\n"
        let mistakes = MountsDocument(text).mistakes
        #expect(mistakes.count == 1 && mistakes[0].hasPrefix(expected), "\(mistakes)")
    }

    @Test func `a mistake in one mount does not concern another one`() throws {
        let document = MountsDocument("\(Self.whole)\n[mounts.broken]\nurl = \"s3://bucket/x\"\n")
        #expect(try document.mount(try MountName("notes"))?.deviceName == "desk")
        #expect(try document.mount(try MountName("none")) == nil)
        #expect(throws: MountsDocument.Problem.self) { try document.mount(try MountName("broken")) }
    }

    @Test(arguments: [
        (
            "/nonexistent/Work", "s3://bucket/other",
            "5:1: /nonexistent/Work is already the mountpoint of the mount a; choose another directory"
        ),
        (
            "/nonexistent/Work/in", "s3://bucket/other",
            "5:1: /nonexistent/Work/in is inside /nonexistent/Work, the mountpoint of the mount a; choose a directory outside of it"
        ),
        (
            "/nonexistent", "s3://bucket/other",
            "5:1: /nonexistent contains /nonexistent/Work, the mountpoint of the mount a; choose a directory beside it"
        ),
        (
            "/nonexistent/Other", "s3://bucket/notes",
            "6:1: the mount a has the container s3://bucket/notes already; a second one on this machine is a device of its own: give it a state directory (--state DIR, or state in the file)"
        ),
    ])
    func `mounts that exclude each other are reported`(_ place: String, _ url: String, _ expected: String) throws {
        let text = "\(try NamedMount.test("a").table)[mounts.b]\nmountpoint = \"\(place)\"\nurl = \"\(url)\"\n"
        #expect(MountsDocument(text).mistakes == [expected])
    }

    @Test func `a mount that is added is read back as it was, whatever its texts contain`() throws {
        var mount = try NamedMount.test("b.c-1", at: "/nonexistent/a\"b\\c'd#[é]")
        mount.options = ["no_download=+a", "ignore=x\\:y"]
        mount.ignore = ["\\#a", "!b c", "\u{1F600}"]
        mount.autostart = true
        mount.rules = [
            try PathRules(
                path: "a \"b\"/\u{e9}", limits: [.evictAfter: .init(.seconds(7 * 86_400)), .keepRecent: .off]),
            try PathRules(path: "a.b/[c]", limits: [.downloadSmall: .init(number: 512_000)]),
        ]
        let document = try MountsDocument("# kept").adding(mount)
        #expect(document.mounts == [mount] && document.mistakes == [])
        #expect(document.text.hasPrefix("# kept\n\n[mounts.\"b.c-1\"]\n"))
    }

    @Test func `the rules of directories are read with the mount, and removed with it`() throws {
        let rules = """

            [mounts.notes.rules."Pictures/raw"]
            evict_after = "7d"
            download_small = "off"
            """
        let document = MountsDocument(Self.whole + "\n" + rules)
        #expect(document.mistakes == [])
        let notes = try #require(document.mounts.first)
        #expect(
            notes.rules == [
                try PathRules(
                    path: "Pictures/raw", limits: [.evictAfter: .init(.seconds(604_800)), .downloadSmall: .off])
            ])
        #expect(try document.removing(try MountName("notes")).mounts.map(\.name.description) == ["b.c"])
    }

    @Test(arguments: [
        ("rules = 3", "4:1: rules must be tables, each written as [mounts.a.rules.\"DIRECTORY\"]"),
        ("rules.b = 3", "4:1: the rules of b must be tables, each written as [mounts.a.rules.\"DIRECTORY\"]"),
        (
            "[mounts.a.rules.b]\n evict_afer = '7d'",
            "5:2: there is no rule evict_afer for a directory; did you mean evict_after?"
        ),
        (
            "[mounts.a.rules.b]\nevict_after = 7",
            "5:1: evict_after must be a text in quotes: off, or a whole number with s, m, h or d, 60s to 3650d, as in 30d"
        ),
        (
            "[mounts.a.rules.b]\nevict_after = '7'",
            "5:1: evict_after is off, or a whole number with s, m, h or d, 60s to 3650d, as in 30d, not 7"
        ),
        (
            "[mounts.a.rules.\"../b\"]\nevict_after = '7d'",
            "4:1: the path ../b has a part that is no name of a directory"
        ),
    ])
    func `a mistake in the rules of a directory is reported where it is`(_ lines: String, _ expected: String) {
        let text = "[mounts.a]\nurl = 's3://bucket/a'\nmountpoint = '/nonexistent/a'\n\(lines)\n"
        #expect(MountsDocument(text).mistakes == [expected])
    }

    @Test func `a mount that is added and removed leaves the file as it was`() throws {
        let before = MountsDocument(Self.whole + "\n")
        let after = try before.adding(try .test("new", url: "s3://bucket/new", at: "/nonexistent/new"))
        #expect(try after.removing(try MountName("new")).text == before.text + "")
    }

    @Test(arguments: ["\n", "\r\n"])
    func `only the lines and comments of a removed mount are cut`(_ end: String) throws {
        let text = """
            # Top.

            # About a.
            [mounts.a]
            # The container.
            url = "s3://bucket/a"
            mountpoint = "/nonexistent/a"
            options = [
                "ro", # [mounts.b]
            ]

            # About b.
            [mounts.b]
            url = "s3://bucket/b"
            mountpoint = "/nonexistent/b"
            # The end.

            """
        let rest = """
            # Top.

            # About b.
            [mounts.b]
            url = "s3://bucket/b"
            mountpoint = "/nonexistent/b"
            # The end.

            """
        let document = MountsDocument(text.replacing("\n", with: end))
        #expect(try document.removing(try MountName("a")).text == rest.replacing("\n", with: end))
    }

    @Test func `a mount is removed however it is written, or not at all`() throws {
        let other = "[mounts.o]\nurl = \"s3://bucket/o\"\nmountpoint = \"/nonexistent/o\"\n"
        let dotted = "mounts.a.url = \"s3://bucket/a\"\nmounts.a.mountpoint = \"/nonexistent/a\"\n"
        #expect(try MountsDocument(dotted).removing(try MountName("a")).text == "")
        let inline = "[mounts]\na = { url = \"s3://bucket/a\", mountpoint = \"/nonexistent/a\" }\n\(other)"
        #expect(try MountsDocument(inline).removing(try MountName("a")).text == "[mounts]\n\(other)")
        let nested = "mounts = { a = { url = \"s3://bucket/a\", mountpoint = \"/nonexistent/a\" } }\n"
        let error = try #require(throws: DaemonError.self) {
            try MountsDocument(nested).removing(try MountName("a"))
        }
        #expect(error.description.hasSuffix("remove its lines with: dewpoint edit"))
        #expect(throws: DaemonError.self) {
            try MountsDocument(nested).adding(try .test("b", url: "s3://bucket/b", at: "/nonexistent/b"))
        }
    }

    @Test func `a broken mount can be removed`() throws {
        let text = "[mounts.a]\nurl = 7\n\n\(try NamedMount.test("b").table)"
        #expect(try MountsDocument(text).removing(try MountName("a")).text == (try NamedMount.test("b").table))
    }

    @Test func `a name or place that is taken is refused with what to do`() throws {
        let document = try MountsDocument("").adding(try .test("a"))
        func refusal(_ mount: NamedMount) throws -> String {
            try #require(throws: DaemonError.self) { try document.adding(mount) }.description
        }
        #expect(
            try refusal(try .test("a", url: "s3://bucket/x", at: "/nonexistent/x"))
                == "there is a mount a already, of s3://bucket/notes at /nonexistent/Work; choose another name, or remove it "
                + "first with: dewpoint remove a")
        #expect(try refusal(try .test("b", url: "s3://bucket/x", at: "/nonexistent/Work/x")).contains("is inside"))
        #expect(try refusal(try .test("b", url: "nonsense", at: "/nonexistent/x")).contains("must be a URL"))
        #expect(
            try refusal(try .test("b", url: "file:///nonexistent/x/store", at: "/nonexistent/x"))
                == "the mountpoint /nonexistent/x and the directory /nonexistent/x/store that stores the container must not "
                + "contain each other; choose another mountpoint")
        #expect(try refusal(try .test("b", url: "s3://bucket/x", at: "/")).hasPrefix("nothing can be mounted on /"))
    }

    @Test func `a place inside a mounted container is refused`() throws {
        let mountinfo = "36 35 0:98 / /nonexistent/m rw - fuse.dewpoint dewpoint rw,user_id=0,group_id=0\n"
        let error = try #require(throws: DaemonError.self) {
            try MountsDocument("", .test(mountinfo: mountinfo)).adding(try .test("b", at: "/nonexistent/m/in"))
        }
        #expect(
            error.description
                == "/nonexistent/m/in is inside the container that is mounted at /nonexistent/m; choose a directory outside of "
                + "it")
    }
}
