import Foundation
import Model
import Testing

extension RealMount {
    @Suite("Command line") struct CommandLine {
        /// Runs a command that must fail with a message, and returns its output.
        private func refused(_ container: MountedContainer, _ arguments: String...) async throws -> String {
            let result = try await Command.run([container.binary] + arguments, environment: container.environment)
            #expect(result.status != 0, "\(arguments)")
            #expect(result.status < 124, "\(arguments) did not end by itself: \(result.status)")
            let text = result.output + result.errors
            #expect(text.contains(" ") && !text.contains("Fatal error"), "\(arguments): \(text)")
            return text
        }

        @Test func `a mount that is not possible fails with a message and mounts nothing`() async throws {
            try await MountedContainer.with { container in
                let (a, directory) = (container.a, container.directory)
                try await Command.script(
                    #"mkdir "$1"/{empty,full,point,no-container}; touch "$1/full/file""#, directory)
                _ = try await refused(
                    container, "mount", "file://\(directory)/no-container", directory + "/point", "--state",
                    directory + "/s1")
                _ = try await refused(
                    container, "mount", "file://\(directory)/nowhere", directory + "/point", "--state",
                    directory + "/s2")
                _ = try await refused(
                    container, "mount", container.url, directory + "/full", "--state", directory + "/s3")
                _ = try await refused(
                    container, "mount", container.url, directory + "/none", "--state", directory + "/s4")
                _ = try await refused(container, "mount", container.url, a.point, "--state", directory + "/s5")
                let second = try await refused(
                    container, "mount", container.url, directory + "/point", "--state", a.state)
                #expect(second.contains("already mounted at \(a.point)"), "\(second)")
                _ = try await refused(
                    container, "mount", container.url, directory + "/point", "--state", directory + "/s6", "-o",
                    "nonsense=1")
                _ = try await refused(
                    container, "mount", "ftp://x/y", directory + "/point", "--state", directory + "/s7")
                let url = try await refused(container, "container", "gc", container.url)
                #expect(url.contains("\(container.url) is the URL of a container; give a path in its mount instead;"))
                let outside = try await refused(container, "status", "etc")
                #expect(outside.hasPrefix("dewpoint: etc is not in a mounted container; "), "\(outside)")
                #expect(Leftovers.mountpoints(below: directory) == [a.point])
                try await a.check()
            }
        }

        @Test func `a runtime directory with a path that is too long for a socket, or just not, is no obstacle`()
            async throws
        {
            try await MountedContainer.with { container in
                let own = "/dewpoint/0123456789abcdef.sock".utf8.count
                for byteCount in [102, 103, 104, 107, 108] {
                    let rest = byteCount - own - container.directory.utf8.count - 1
                    let runtime = container.directory + "/" + String(repeating: "r", count: max(1, rest))
                    let place = "\(container.directory)/\(byteCount)"
                    try await Command.script(#"mkdir -m 700 -p "$1" && mkdir -p "$2""#, runtime, place + "/point")
                    let environment = container.environment.merging(["XDG_RUNTIME_DIR": runtime]) { $1 }
                    for arguments in [
                        ["mount", container.url, place + "/point", "--state", place + "/state"],
                        ["status", place + "/point"], ["unmount", place + "/point"],
                    ] {
                        let result = try await Command.run([container.binary] + arguments, environment: environment)
                        #expect(result.succeeded, "\(byteCount) bytes, \(arguments): \(result.errors)")
                    }
                }
            }
        }

        @Test func `pins are listed, saved, and set again`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                try await Command.script(
                    #"cd "$1"; mkdir d; echo 1 > d/1; echo 2 > d/2; echo n > $'new\nline'"#, a.point)
                try await a.sync()
                func list(_ arguments: String...) async throws -> String {
                    try await container.dewpoint(["pin", "--list"] + arguments)
                }
                #expect(try await list(a.point) == "nothing is pinned\n")
                try await container.dewpoint(["pin", a.path("d"), a.path("new\nline")])
                try await container.dewpoint(["unpin", a.path("d/1")])
                #expect(try await list(a.point) == "\(a.point)/d\n\(a.point)/new\\nline\n")
                #expect(try await list(a.path("d"), "--null") == "./d\0")
                let json = try await list(a.point, "--json")
                let pins = try JSONDecoder().decode([PinnedItem].self, from: Data(json.utf8))
                #expect(
                    pins == [
                        PinnedItem(path: "d", pinned: true), PinnedItem(path: "d/1", pinned: false),
                        PinnedItem(path: "new\nline", pinned: true),
                    ])
                try await Command.script(
                    #"""
                    cd "$2"; "$1" pin --list --null . > ../pins
                    "$1" unpin d $'new\nline'; "$1" pin --list .
                    xargs --null "$1" pin < ../pins; "$1" pin --list --null . | cmp - ../pins
                    """#, container.binary, a.point, environment: container.environment)
                let none = try await refused(container, "pin")
                #expect(none.contains("give at least one path"))
            }
        }

        @Test func `a container is created only once, and its identifier must be valid`() async throws {
            try await MountedContainer.with(devices: []) { container in
                _ = try await refused(
                    container, "container", "create", container.url, "--id", MountedContainer.identifier)
                try await Command.check(["mkdir", container.directory + "/second"])
                _ = try await refused(
                    container, "container", "create", "file://\(container.directory)/second", "--id", "not an id")
                #expect(try listing(container.directory + "/second").isEmpty)
            }
        }

        @Test func `mount returns once the mount is usable, and the daemon holds no pipe open`() async throws {
            try await MountedContainer.with(devices: []) { container in
                let a = container.a
                let printed = try await Command.script(
                    #"mkdir "$3"; "$1" mount "$2" "$3" --state "$4" 2>&1 | cat; touch "$3/f"; ls "$3""#,
                    container.binary,
                    container.url, a.point, a.state, limit: .seconds(20), environment: container.environment)
                #expect(printed.hasSuffix("f\n"))
            }
        }

        @Test func `status, download, evict and pin work on paths`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                _ = try await a.placeholder("folder/f", byteCount: 100_000)
                #expect(try await container.dewpoint(["status", a.path("folder/f")]).contains("NotDownloaded"))
                try await container.dewpoint(["download", a.path("folder"), "--wait"])
                #expect(try await a.downloadingStatus("folder/f") == .current)
                try await container.dewpoint(["pin", a.path("folder")])
                _ = try await refused(container, "evict", a.path("folder/f"))
                try await container.dewpoint(["unpin", a.path("folder")])
                try await container.dewpoint(["evict", a.path("folder/f")])
                #expect(try await a.downloadingStatus("folder/f") == .notDownloaded)
                let json = try await container.dewpoint(["status", a.path("folder/f"), a.path("folder"), "--json"])
                #expect(json.contains("\"NotDownloaded\""))
                let whole = try await container.statusOfAll()
                #expect(whole.contains(MountedContainer.identifier))
                _ = try await refused(container, "status", a.path("none"))
                _ = try await refused(container, "evict", "/etc/hostname")
                // Relative paths, as typed in a shell.
                try await Command.check(
                    [container.binary, "download", "f", "--wait"], in: a.path("folder"),
                    environment: container.environment)
            }
        }

        @Test func `check passes on an intact replica, mounted or not, and finds a missing local file`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                try await a.write("f", byteCount: 5000)
                try await a.sync()
                try await a.check()
                try await a.unmount()
                try await container.dewpoint(["check", "--state", a.state])
                try await Command.check(["rm", a.backing + "/f"])
                let said = try await refused(container, "check", "--state", a.state)
                #expect(said.contains("f"), "\(said)")
            }
        }

        @Test func `an idle mount uses almost no processor time`() async throws {
            try await MountedContainer.with { container in
                try await container.a.write("f", byteCount: 1000)
                try await container.a.sync()
                let pid = try #require(Leftovers.daemons(mentioning: container.a.state).first)
                let seconds = 3
                let ticks = try await Command.script(
                    #"t() { awk '{print $14 + $15}' "/proc/$1/stat"; }; b=$(t "$1"); sleep "$2"; echo $(( $(t "$1") - b ))"#,
                    "\(pid)", "\(seconds)")
                // In hundredths of a second.
                #expect(try #require(Int(ticks.trimmingCharacters(in: .newlines))) < 10 * seconds)
            }
        }
    }
}
