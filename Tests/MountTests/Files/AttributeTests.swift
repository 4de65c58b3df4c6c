import Foundation
import Model
import Testing

extension RealMount {
    @Suite("Extended attributes") struct AttributeTests {
        /// One call on an item and its expected result.
        struct Outcome: Sendable, CustomTestStringConvertible {
            let call: String
            let attribute: String
            var value: [String] = []
            let expected: String

            var testDescription: String {
                "\(call) \(attribute) \(value.joined(separator: " ").prefix(20)): \(expected)"
            }
        }

        @Test func `the attributes report that a file is downloaded and uploaded`() async throws {
            try await MountedContainer.with(creating: ["--name", "Test Notes"]) { container in
                let a = container.a
                try await a.write("Documents/notes.txt", byteCount: 1234)
                try await a.sync()
                for (name, value) in [
                    ("isUbiquitousItem", "1"), ("downloadingStatus", "Current"), ("isDownloaded", "1"),
                    ("isDownloading", "0"), ("isUploaded", "1"), ("isUploading", "0"), ("downloadRequested", "0"),
                    ("isShared", "0"), ("percentDownloaded", "100"), ("percentUploaded", "100"),
                    ("containerIdentifier", MountedContainer.identifier), ("containerDisplayName", "Test Notes"),
                    ("scope", "documents"), ("name", "notes.txt"), ("logicalSize", "1234"), ("pinned", "0"),
                    ("contentType", "public.plain-text"),
                ] {
                    #expect(
                        try await a.call("getxattr", "Documents/notes.txt", "user.dewpoint." + name) == "OK " + value,
                        "\(name)")
                }
                #expect(try await a.call("getxattr", "Documents/notes.txt", "user.openvfs.realsize") == "OK 1234")
                #expect(try await a.call("setxattr", "Documents/notes.txt", "user.openvfs.data", "x") == "EACCES")
                for name in ["etag", "lastEditor"] {
                    #expect(try await !a.attribute(name, of: "Documents/notes.txt").isEmpty)
                }
                let status = try await a.status("Documents/notes.txt")
                #expect(status.path == "Documents/notes.txt")
                #expect(status.isUploaded)
                #expect(status.downloadingStatus == .current)
            }
        }

        @Test func `the attributes report that a placeholder is not downloaded`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                _ = try await a.placeholder("f", byteCount: 1234)
                for (name, value) in [
                    ("downloadingStatus", "NotDownloaded"), ("isDownloaded", "0"), ("isDownloading", "0"),
                    ("isUploaded", "1"), ("downloadRequested", "0"), ("percentDownloaded", "0"),
                    ("percentUploaded", "100"), ("logicalSize", "1234"), ("scope", "data"),
                ] {
                    #expect(try await a.call("getxattr", "f", "user.dewpoint." + name) == "OK " + value, "\(name)")
                }
                #expect(try await a.call("getxattr", "f", "user.openvfs.realsize") == "OK 0")
            }
        }

        @Test func `the attributes report that a change is not uploaded yet`() async throws {
            try await MountedContainer.with(options: "network_timeout=2s", isDisconnectable: true) { container in
                let a = container.a
                try await container.disconnect()
                try await a.write("f", byteCount: 10)
                #expect(try await a.attribute("isUploaded", of: "f") == "0")
                #expect(try await a.attribute("percentUploaded", of: "f") == "0")
                #expect(try await a.attribute("downloadingStatus", of: "f") == "Current")
                #expect(try await a.call("setxattr", "f", "user.dewpoint.evict", "1") == "EBUSY")
                try await container.reconnect()
                try await a.sync()
                #expect(try await a.attribute("isUploaded", of: "f") == "1")
            }
        }

        @Test func `a preview is set and read as an attribute, and seen on another device without a download`()
            async throws
        {
            try await MountedContainer.with(devices: ["A", "B"]) { container in
                let (a, b) = (container.a, container.b)
                let jpeg = Data([0xff, 0xd8, 0xff, 0xe0] + (0..<16_380).map { UInt8(truncatingIfNeeded: $0 / 7) })
                let text = jpeg.base64EncodedString()
                try await a.write("a.jpg", byteCount: 100_000)
                try await a.sync()
                #expect(try await a.call("getxattr", "a.jpg", "user.dewpoint.preview") == "ENODATA")
                #expect(try await a.call("removexattr", "a.jpg", "user.dewpoint.preview") == "ENODATA")
                #expect(try await a.call("setxattr", "a.jpg", "user.dewpoint.preview", "GIF89a") == "EINVAL")
                try await a.set("preview", "0s" + text, on: "a.jpg")
                #expect(try await a.attribute("hasPreview", of: "a.jpg") == "1")
                try await a.sync()
                try await b.sync()
                func command(_ device: Device, _ command: String) async throws -> String {
                    let script = "\(command) | base64 -w 0"
                    let arguments = ["sh", "-c", script, container.binary, device.path("a.jpg")]
                    return try await Command.check(arguments, environment: container.environment)
                }
                for device in [a, b] {
                    #expect(try await command(device, #""$0" preview "$1""#) == text)
                    let attribute = #"getfattr --only-values --absolute-names -n user.dewpoint.preview "$1""#
                    #expect(try await command(device, attribute) == text)
                    #expect(try await command(device, #"getfattr -d -m - "$1""#) == "")
                }
                #expect(try await b.status("a.jpg").hasPreview == true)
                #expect(try await b.downloadingStatus("a.jpg") == .notDownloaded)
                #expect(try await b.call("setxattr", "a.jpg", "user.dewpoint.preview", "\u{ff}") == "EOPNOTSUPP")
                try await a.write("a.jpg", byteCount: 10)
                #expect(try await a.attribute("hasPreview", of: "a.jpg") == "0")
                let refused = try await Command.run(
                    [container.binary, "preview", a.path("a.jpg")], environment: container.environment)
                #expect(refused.status == 1 && refused.errors.contains("a.jpg has no preview"), "\(refused.errors)")
                let absent = try await Command.run(
                    [container.binary, "preview", a.path("no.jpg")], environment: container.environment)
                #expect(absent.status == 66, "\(absent.errors)")
                try await a.sync()
                try await b.sync()
                #expect(try await b.attribute("hasPreview", of: "a.jpg") == "0")
            }
        }

        @Test func `Apple's resource keys are readable as attributes and return Apple's values`() async throws {
            try await MountedContainer.with { container in
                _ = try await container.a.placeholder("f", byteCount: 10)
                let prefix = "user.dewpoint.NSURLUbiquitousItem"
                #expect(
                    try await container.a.call("getxattr", "f", prefix + "DownloadingStatusKey")
                        == "OK NSURLUbiquitousItemDownloadingStatusNotDownloaded")
                #expect(try await container.a.call("getxattr", "f", prefix + "IsDownloadingKey") == "OK 0")
            }
        }

        static let outcomes: [Outcome] = [
            Outcome(call: "getxattr", attribute: "user.dewpoint.nonsense", expected: "ENODATA"),
            Outcome(call: "removexattr", attribute: "user.dewpoint.nonsense", expected: "ENODATA"),
            Outcome(call: "setxattr", attribute: "user.dewpoint.nonsense", value: ["1"], expected: "EOPNOTSUPP"),
            Outcome(call: "setxattr", attribute: "user.dewpoint.isUploaded", value: ["1"], expected: "EACCES"),
            Outcome(call: "setxattr", attribute: "user.dewpoint.status", value: ["1"], expected: "EACCES"),
            Outcome(call: "removexattr", attribute: "user.dewpoint.isUploaded", expected: "EACCES"),
            Outcome(call: "setxattr", attribute: "user.dewpoint.download", value: ["2"], expected: "EINVAL"),
            Outcome(call: "setxattr", attribute: "user.dewpoint.download", value: [""], expected: "EINVAL"),
            Outcome(call: "setxattr", attribute: "user.dewpoint.download", value: ["1%00"], expected: "EINVAL"),
            Outcome(call: "setxattr", attribute: "user.dewpoint.evict", value: ["0"], expected: "EINVAL"),
            Outcome(call: "setxattr", attribute: "user.dewpoint.pinned", value: ["yes"], expected: "EINVAL"),
            Outcome(call: "setxattr", attribute: "user.dewpoint.pinned", value: ["1", "create"], expected: "EEXIST"),
            Outcome(call: "getxattr", attribute: "user.dewpoint.downloadingError", expected: "ENODATA"),
            Outcome(call: "getxattr", attribute: "user.dewpoint.uploadingError", expected: "ENODATA"),
            Outcome(
                call: "getxattrsized", attribute: "user.dewpoint.downloadingStatus", value: ["3"], expected: "ERANGE"),
            Outcome(
                call: "getxattrsized", attribute: "user.dewpoint.downloadingStatus", value: ["0"], expected: "OK 7"),
            Outcome(
                call: "setxattr", attribute: "user.dewpoint.download", value: [String(repeating: "1", count: 65_537)],
                expected: "E2BIG"),
            Outcome(
                call: "setxattr", attribute: "user." + String(repeating: "n", count: 251), value: ["1"],
                expected: "ERANGE"),
            Outcome(call: "setxattr", attribute: "user.none", value: ["1", "replace"], expected: "ENODATA"),
            Outcome(call: "getxattr", attribute: "user.none", expected: "ENODATA"),
            Outcome(call: "getxattr", attribute: "security.selinux", expected: "ENODATA"),
            Outcome(call: "getxattr", attribute: "system.posix_acl_access", expected: "ENODATA"),
            // For an ordinary user, the kernel refuses this without asking the file system.
            Outcome(
                call: "setxattr", attribute: "trusted.x", value: ["1"],
                expected: Requirement.root ? "EOPNOTSUPP" : "EPERM"),
            Outcome(call: "getxattr", attribute: "dewpoint.downloadingStatus", expected: "OK Current"),
            Outcome(call: "setxattr", attribute: "dewpoint.nonsense", value: ["1"], expected: "EOPNOTSUPP"),
            Outcome(call: "setxattr", attribute: "user.dewpoint.download", value: ["1"], expected: "OK"),
            Outcome(call: "setxattr", attribute: "user.dewpoint.download", value: ["0"], expected: "OK"),
            Outcome(call: "setxattr", attribute: "user.dewpoint.download", value: ["wait"], expected: "OK"),
        ]

        @Test func `attribute calls return the documented value or errno`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                try await a.write("f", byteCount: 10)
                try await a.sync()
                for outcome in Self.outcomes {
                    let arguments = [
                        Requirement.python, Driver.path("call.py"), outcome.call, a.path("f"), outcome.attribute,
                    ]
                    let printed = try await Command.check(arguments + outcome.value)
                    #expect(printed == outcome.expected + "\n", "\(outcome.testDescription)")
                }
                #expect(try await a.attribute("pinned", of: "f") == "0", "a refused value changes nothing")
            }
        }

        @Test func `download=1 starts a download, and download=wait returns when it is complete`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                _ = try await a.placeholder("one", byteCount: 3 << 20)
                _ = try await a.placeholder("two", byteCount: 3 << 20)
                try await a.set("download", "wait", on: "one")
                #expect(try await a.downloadingStatus("one") == .current)
                try await a.set("download", "1", on: "two")
                try await eventually("the download ends") {
                    try await a.downloadingStatus("two") == .current
                }
            }
        }

        @Test func `a signal ends a wait with EINTR`() async throws {
            try await MountedContainer.with(options: "link_down=64") { container in
                _ = try await container.a.placeholder("f", byteCount: 8 << 20)
                let printed = try await Command.check([
                    Requirement.python, "-c",
                    """
                    import ctypes, errno, signal, sys, time
                    # Without SA_RESTART, through the C library: Python's own call would start over.
                    signal.signal(signal.SIGALRM, lambda *_: None)
                    signal.siginterrupt(signal.SIGALRM, True)
                    signal.setitimer(signal.ITIMER_REAL, 0.5)
                    libc, start = ctypes.CDLL(None, use_errno=True), time.monotonic()
                    result = libc.setxattr(sys.argv[1].encode(), b"user.dewpoint.download", b"wait", 4, 0)
                    print(result, errno.errorcode[ctypes.get_errno()], time.monotonic() - start < 2)
                    """, container.a.path("f"),
                ])
                #expect(printed == "-1 EINTR True\n")
            }
        }

        @Test func `a file that is open for writing or modified is not evicted`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                try await a.write("f", byteCount: 5000)
                try await a.sync()
                let printed = try await Command.script(
                    #"exec 3>> "$1"; python3 "$2" setxattr "$1" user.dewpoint.evict 1; exec 3>&-; python3 "$2" stat "$1""#,
                    a.path("f"), Driver.path("call.py"))
                #expect(printed == "EBUSY\nOK 5000\n")
                #expect(try await a.downloadingStatus("f") == .current)
                try await a.sync()
                try await eventually("closed and uploaded, it can go") {
                    try await a.call("setxattr", "f", "user.dewpoint.evict", "1") == "OK"
                }
                #expect(try await a.downloadingStatus("f") == .notDownloaded)
            }
        }

        @Test func `a file whose bytes are missing from the container is not evicted`() async throws {
            try await MountedContainer.with(options: "network_timeout=2s") { container in
                let a = container.a
                try await a.write("f", byteCount: 5000)
                try await a.sync()
                let hash = try await a.sha256("f")
                try await container.takePacksAway()
                #expect(try await a.call("setxattr", "f", "user.dewpoint.evict", "1") != "OK")
                #expect(try await a.downloadingStatus("f") == .current)
                #expect(try await a.sha256("f") == hash)
                #expect(FileManager.default.fileExists(atPath: a.backing + "/f"))
            }
        }

        @Test func `evicting or downloading a directory applies to everything in it`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                for name in ["top/one", "top/inner/two", "top/inner/deep/three", "beside"] {
                    try await a.write(name, byteCount: 9000)
                }
                try await a.sync()
                try await a.set("evict", "1", on: "top")
                for name in ["top/one", "top/inner/two", "top/inner/deep/three"] {
                    #expect(try await a.downloadingStatus(name) == .notDownloaded, "\(name)")
                }
                #expect(try await a.downloadingStatus("beside") == .current)
                try await a.set("download", "wait", on: "top")
                #expect(try await a.downloadingStatus("top/inner/deep/three") == .current)
            }
        }

        @Test func `a pinned directory and its contents are downloaded and cannot be evicted`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                let hash = try await a.placeholder("folder/old", byteCount: 5000)
                try await a.set("pinned", "1", on: "folder")
                try await a.write("folder/inner/new", byteCount: 5000)
                try await a.sync()
                for name in ["folder", "folder/old", "folder/inner/new"] {
                    #expect(try await a.attribute("pinned", of: name) == "1", "\(name)")
                    #expect(try await a.call("setxattr", name, "user.dewpoint.evict", "1") == "EBUSY", "\(name)")
                }
                try await eventually("what is pinned is downloaded") {
                    try await a.downloadingStatus("folder/old") == .current
                }
                #expect(try await a.sha256("folder/old") == hash)
                try await a.set("pinned", "0", on: "folder")
                try await a.set("evict", "1", on: "folder")
                #expect(try await a.downloadingStatus("folder/inner/new") == .notDownloaded)
            }
        }

        @Test func `user.dewpoint attributes are not listed, so copies do not carry them`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                try await a.write("f", byteCount: 10)
                try await Command.check(["setfattr", "-n", "user.colour", "-v", "green", a.path("f")])
                #expect(try await a.call("listxattr", "f") == "OK user.colour")
                try await Command.check(["cp", "-a", a.path("f"), a.path("g")])
                #expect(try await a.call("getxattr", "g", "user.colour") == "OK green")
                try await Command.check(["cp", "-a", a.path("f"), container.directory + "/outside"])
            }
        }

        @Test func `attributes of symbolic links are read by names without the user prefix`() async throws {
            try await MountedContainer.with { container in
                try await Command.check(["ln", "-s", "nowhere", container.a.path("link")])
                try await container.a.sync()
                #expect(try await container.a.call("getxattr", "link", "dewpoint.isUploaded") == "OK 1")
                #expect(try await container.a.call("getxattr", "link", "dewpoint.nonsense") == "ENODATA")
            }
        }

        @Test(.needsRoot(to: "become another user"))
        func `only the owner may evict or pin a file; any user with write permission may download it`() async throws {
            try await MountedContainer.with(options: "allow_other") { container in
                let a = container.a
                try await a.write("f", byteCount: 10)
                try await a.sync()
                try await Command.check(["chmod", "666", a.path("f")])
                for name in ["download", "evict", "pinned"] {
                    let printed = try await Command.check([
                        "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", Requirement.python,
                        Driver.path("call.py"), "setxattr", a.path("f"), "user.dewpoint." + name, "1",
                    ])
                    // Any user with write permission may download the file.
                    #expect(printed == (name == "download" ? "OK\n" : "EPERM\n"), "\(name)")
                }
            }
        }
    }
}
