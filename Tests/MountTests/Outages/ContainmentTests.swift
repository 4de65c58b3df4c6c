import Foundation
import Testing

extension RealMount {
    /// Nothing outside the container and the state directory is touched, whatever they contain.
    @Suite("Containment") struct Containment {
        /// Runs the program, which must fail with an error message that contains `word`.
        private func refused(
            _ container: MountedContainer, _ word: String, _ arguments: [String], environment: [String: String] = [:],
            sourceLocation: SourceLocation = #_sourceLocation
        ) async throws {
            let result = try await Command.run(
                [container.binary] + arguments, environment: container.environment.merging(environment) { $1 })
            #expect((1..<124).contains(result.status), "\(arguments)", sourceLocation: sourceLocation)
            #expect(result.errors.contains(word), "\(arguments): \(result.errors)", sourceLocation: sourceLocation)
            // If the mount succeeded by mistake, it must not be left behind.
            if let point = Leftovers.mountpoints(below: container.directory).first {
                try await container.dewpoint(["unmount", point])
            }
        }

        @Test(.needsDirectory)
        func `a symbolic link in place of the temporary directory is refused and not followed`() async throws {
            try await MountedContainer.with(devices: []) { container in
                let directory = container.directory
                try await Command.script(
                    """
                    mkdir "$1"/{victim,A,B}; touch -d '3 days ago' "$1/victim/old"; rm -r "$1/remote/.tmp"
                    ln -s "$1/victim" "$1/remote/.tmp"
                    """, directory)
                let link = "\(directory)/remote/.tmp is a symbolic link"
                try await refused(
                    container, link, ["mount", container.url, container.a.point, "--state", container.a.state])
                try await refused(
                    container, link,
                    ["mount", container.url, container.b.point, "--state", container.b.state, "-o", "ro"])
                try await refused(container, link, ["container", "export", container.url, directory + "/out"])
                #expect(try listing(directory + "/victim") == ["old"])
            }
        }

        @Test(.needsDirectory)
        func `nothing is written through a symbolic link in place of the pack directory`() async throws {
            try await MountedContainer.with { container in
                let directory = container.directory
                try await Command.script(
                    """
                    mkdir "$1/victim" "$1/in"; echo one > "$1/in/f"; rm -rf "$1/remote/packs"; ln -s "$1/victim" "$1/remote/packs"
                    echo two > "$1/A/g"
                    """, directory)
                try await refused(
                    container, "packs is a symbolic link", ["container", "import", directory + "/in", container.url])
                // The sync either waits or fails with a message.
                _ = try await Command.run(
                    [container.binary, "sync", container.a.point, "--wait"], limit: .seconds(5),
                    environment: container.environment)
                #expect(try listing(directory + "/victim").isEmpty)
                try await Command.script(#"rm "$1/remote/packs""#, directory)
            }
        }

        @Test(.needsRoot(to: "make what belongs to another user"))
        func `leftover scratch replicas are removed, except those of other users and symbolic links`() async throws {
            try await MountedContainer.with(devices: []) { container in
                let directory = container.directory
                // No process has these ids.
                try await Command.script(
                    """
                    mkdir -p "$1"/tmp/dewpoint-visit-99999991-theirs "$1"/tmp/dewpoint-visit-99999992-ours "$1/victim"
                    for place in "$1"/tmp/dewpoint-visit-* "$1/victim"; do touch "$place/file"; done
                    chown -R 64999 "$1"/tmp/dewpoint-visit-99999991-theirs
                    ln -s ../victim "$1/tmp/dewpoint-visit-99999993-link"
                    ln -s ../../victim "$1/tmp/dewpoint-visit-99999992-ours/link"
                    """, directory)
                try await Command.check(
                    [container.binary, "container", "export", container.url, directory + "/out"],
                    environment: container.environment.merging(["TMPDIR": directory + "/tmp"]) { $1 })
                #expect(
                    try listing(directory + "/tmp") == [
                        "dewpoint-visit-99999991-theirs", "dewpoint-visit-99999993-link",
                    ])
                #expect(try listing(directory + "/tmp/dewpoint-visit-99999991-theirs") == ["file"])
                #expect(try listing(directory + "/victim") == ["file"])
            }
        }

        @Test(arguments: [("TERM", "143\n"), ("HUP", "129\n")])
        func `a signal that ends a command leaves no scratch replica`(signal: String, status: String) async throws {
            try await MountedContainer.with(devices: []) { container in
                let output = try await Command.script(
                    #"""
                    mkdir "$1/tmp" "$1/in"; (cd "$1/in"; seq 1 20000 | split -l 10)
                    TMPDIR="$1/tmp" "$2" container import "$1/in" "$3" >/dev/null & command=$!
                    until compgen -G "$1/tmp/dewpoint-visit-*/index*" >/dev/null; do kill -0 $command; sleep 0.01; done
                    kill -"$4" $command
                    wait $command || echo $?
                    ls "$1/tmp"
                    """#, container.directory, container.binary, container.url, signal,
                    environment: container.environment)
                #expect(output == status)
            }
        }

        @Test func `a state directory that others can modify or redirect is refused`() async throws {
            try await MountedContainer.with(devices: []) { container in
                let directory = container.directory
                try await Command.script(
                    """
                    mkdir "$1"/{A,open,real,planted,victim}; chmod 777 "$1/open"; ln -s real "$1/link"
                    echo text > "$1/victim/file"; ln -s "$1/victim/file" "$1/planted/daemon.log"
                    """, directory)
                for (state, word) in [
                    ("open", "is writable by everyone"), ("open/new", "is writable by everyone"),
                    ("link", "is a symbolic link"), ("link/", "is a symbolic link"),
                    ("planted", "daemon.log is a symbolic link"),
                ] {
                    try await refused(
                        container, word,
                        ["mount", container.url, container.a.point, "--state", directory + "/" + state])
                }
                #expect(try String(contentsOfFile: directory + "/victim/file", encoding: .utf8) == "text\n")
                #expect(try listing(directory + "/open").isEmpty)
                #expect(try listing(directory + "/real").isEmpty)
            }
        }

        @Test(.needsRoot(to: "make what belongs to another user"))
        func `a state directory in another user's directory is refused`() async throws {
            try await MountedContainer.with(devices: []) { container in
                let directory = container.directory
                try await Command.script(#"mkdir "$1"/{A,theirs}; chown 64999 "$1/theirs""#, directory)
                for state in ["theirs", "theirs/new"] {
                    try await refused(
                        container, "belongs to",
                        ["mount", container.url, container.a.point, "--state", directory + "/" + state])
                }
                #expect(try listing(directory + "/theirs").isEmpty)
            }
        }

        @Test func `control characters in file and device names are escaped in the output`() async throws {
            try await MountedContainer.with(devices: []) { container in
                let a = container.a
                let hostile = "x\u{1b}[31m\u{9b}2J\u{202e}y\nforged"
                try await Command.script(#"mkdir "$1""#, a.point)
                try await container.dewpoint([
                    "mount", container.url, a.point, "--state", a.state, "--device-name", hostile,
                ])
                try await a.write(hostile, byteCount: 10)
                try await a.sync()
                let path = a.path(hostile)
                var said = ""
                for arguments in [
                    ["status"], ["status", path], ["status", path, "--json"], ["versions", path],
                    ["versions", path, "--json"],
                    ["download", path, "--dry-run"], ["status", path + "\u{1b}none"], ["evict", path + "\u{1b}none"],
                    ["locks", a.point], ["trash", "list", a.point], ["trash", "restore", path],
                ] {
                    let result = try await Command.run(
                        [container.binary] + arguments, environment: container.environment)
                    said += result.output + result.errors
                }
                #expect(said.contains(#"x\u{1B}[31m\u{009B}2J\u{202E}y\nforged"#))
                let orders: Set<Unicode.Scalar> = ["\u{1b}", "\u{9b}", "\u{202e}"]
                #expect(!said.unicodeScalars.contains { orders.contains($0) })
                #expect(!said.split(separator: "\n").contains { $0.hasPrefix("forged") })
            }
        }

        @Test func `the exit status is correct even when the error message cannot be written`() async throws {
            let binary = try Requirement.binary()
            for script in [#""$1" status /nonexistent 2> /dev/full"#, #""$1" status /nonexistent 2>&-"#] {
                let result = try await Command.run(["bash", "-c", script, "script", binary])
                #expect(result.status == 66, "\(script)")
            }
        }
    }
}
