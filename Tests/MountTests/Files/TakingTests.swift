import Foundation
import Testing

extension RealMount {
    /// `dewpoint take`: a directory that was there before becomes a mount, and a plain directory again.
    @Suite("Taking") struct Taking {
        /// How often the commands and daemons are killed; more with `DEWPOINT_LONG`.
        private static let kills = Requirement.long ? 100 : 12

        func take(
            _ container: MountedContainer, _ arguments: String..., url: String? = nil
        ) async throws -> Command {
            try await Command.run(
                [container.binary, "take", directory(container), url ?? container.url + "-taken"] + arguments,
                limit: .seconds(60), environment: container.environment)
        }

        func directory(_ container: MountedContainer) -> String { container.directory + "/mine" }

        func state(_ container: MountedContainer) -> String { container.directory + "/state-taken" }

        /// What is in the directory, by name, type, mode and time.
        private func listing(_ container: MountedContainer) async throws -> String {
            try await Command.script(#"cd "$1" && find . -printf '%p %y %m %T@\n' | sort"#, directory(container))
        }

        @Test(.timeLimit(.minutes(30)))
        func `whatever is in a directory stays as it is, and every byte is there whenever something is killed`()
            async throws
        {
            try await MountedContainer.with(devices: []) { container in
                let printed = try await Command.check(
                    [
                        Requirement.python, Driver.path("taking.py"), "--binary", container.binary, "--directory",
                        directory(container), "--state", state(container), "--url", container.url + "-taken", "--kills",
                        "\(Self.kills)", "--seed", "\(UInt32.random(in: 0...UInt32.max))",
                    ], limit: .seconds(300 + Self.kills * 20), environment: container.environment)
                print(printed, terminator: "")
            }
        }

        @Test func `what cannot be in a container is listed, and then nothing is changed`() async throws {
            try await MountedContainer.with(devices: []) { container in
                try await Command.script(
                    #"mkdir -p "$1/d"; echo a > "$1/d/a"; : > "$1/$(printf '\377')"; ln -s "$(printf '\376')" "$1/l""#,
                    directory(container))
                let before = try await listing(container)
                let result = try await take(
                    container, "--id", "iCloud.com.example.Taken", "--state", state(container))
                #expect(result.status == 73)
                #expect(
                    result.errors == """
                        dewpoint: \(directory(container)) cannot be taken over, and nothing was changed: 2 items cannot be in a container
                        l: its target is not UTF-8
                        \u{fffd}: its name is not UTF-8

                        """)
                #expect(try await listing(container) == before)
                #expect(!FileManager.default.fileExists(atPath: state(container)))
            }
        }

        @Test func `a dry run says what would be done, and does nothing`() async throws {
            try await MountedContainer.with(devices: []) { container in
                try await Command.script(
                    #"mkdir -p "$1"; printf 12345 > "$1/a"; : > "$1/.DS_Store"; mkfifo "$1/p""#, directory(container))
                let before = try await listing(container)
                let result = try await take(
                    container, "--id", "iCloud.com.example.Taken", "--state", state(container), "--dry-run")
                #expect(
                    result.output == """
                        \(directory(container)) has 3 items, of them 2 files with 5 B
                        they would become those of the mount by renaming, into \(state(container))/files: nothing is copied
                        the upload to \(container.url)-taken takes 1 s at 10 Mbit/s, 1 s at 100 Mbit/s, 1 s at 1 Gbit/s
                        2 items stay on this device, and are not uploaded:
                          .DS_Store: files with such names are not synced
                          p: items of its kind are not synced

                        """)
                #expect(try await listing(container) == before)
                #expect(!FileManager.default.fileExists(atPath: state(container)))
            }
        }

        @Test func `a state that lies elsewhere, and a container that is not new, are refused`() async throws {
            try await MountedContainer.with(devices: ["A"]) { container in
                try await Command.script(#"mkdir "$1"; echo a > "$1/a""#, directory(container))
                let before = try await listing(container)
                let id = ["--id", "iCloud.com.example.Taken"]
                let elsewhere = try await take(container, id[0], id[1], "--state", "/dev/shm/dewpoint-taken")
                #expect(
                    elsewhere.errors == """
                        dewpoint: the state /dev/shm/dewpoint-taken is not on the file system of \(directory(container)), or on \
                        another mount of it, so that everything would have to be copied; give one that is beside it: --state \
                        \(container.directory)/.mine.dewpoint

                        """)
                #expect(elsewhere.status == 64)
                let inside = try await take(container, id[0], id[1], "--state", directory(container) + "/state")
                #expect(inside.errors.contains("lie in each other; give another --state DIR"))
                #expect(inside.status == 64)
                let within = try await take(
                    container, id[0], id[1], "--state", state(container), url: "file://\(directory(container))/store")
                #expect(within.errors.contains("lie in each other; choose another mountpoint"), "\(within.errors)")
                #expect(within.status == 64)
                let unwritable = try await take(
                    container, id[0], id[1], "--state", state(container) + "-ro", "-o", "ro")
                #expect(
                    unwritable.errors
                        == "dewpoint: a directory cannot be taken into a read-only mount; leave out -o ro\n")
                #expect(unwritable.status == 77)
                // A refused one does not count as mounted there.
                #expect(!FileManager.default.fileExists(atPath: state(container) + "-ro/mountpoint"))
                let missing = try await take(
                    container, "--state", state(container), url: container.url + "-missing")
                #expect(missing.errors.contains("there is no container at"))
                #expect(missing.status == 66)
                try await Command.script(#"echo b > "$1/b""#, container.a.point)
                try await container.a.sync()
                let full = try await take(container, "--state", state(container), url: container.url)
                #expect(full.errors.contains("has items already; take the directory into a new one"), "\(full.errors)")
                #expect(full.status == 73)
                let planned = try await take(
                    container, "--state", state(container), "--dry-run", url: container.url)
                #expect(planned.errors == full.errors)
                #expect(planned.status == 73 && planned.output.isEmpty)
                #expect(try await listing(container) == before)
                #expect(try await Command.script(#"cat "$1/a""#, directory(container)) == "a\n")
            }
        }

        @Test func `another device gets what was taken over, and a return keeps what changed since`() async throws {
            try await MountedContainer.with(devices: []) { container in
                try await Command.script(
                    #"mkdir -p "$1/d"; echo a > "$1/d/a"; chmod 640 "$1/d/a"; touch -d 2001-02-03 "$1/d/a"; setfattr -n user.x -v y "$1/d/a""#,
                    directory(container))
                // Into the container that is there, whatever store and keys it has.
                let result = try await take(container, "--state", state(container), url: container.url)
                #expect(result.status == 0, "\(result.errors)")
                try await container.dewpoint(["sync", "--wait", directory(container)])
                let b = container.device("B")
                try await b.mount()
                let seen = try await Command.script(
                    #"cat "$1/d/a"; stat -c '%a %Y' "$1/d/a"; getfattr -n user.x --only-values "$1/d/a""#, b.point)
                #expect(seen == "a\n640 \(try await time("2001-02-03"))\ny")
                try await Command.script(#"echo b > "$1/b"; echo more >> "$1/d/a""#, b.point)
                try await b.sync()
                try await container.dewpoint(["sync", "--wait", directory(container)])
                let undone = try await container.dewpoint(
                    ["take", "--undo", directory(container), "--state", state(container)])
                #expect(
                    undone
                        == "\(directory(container)) is a plain directory again; the container has what was uploaded\n")
                #expect(
                    try await Command.script(
                        #"cd "$1" && cat b d/a; stat -c %a d/a; getfattr -n user.x --only-values d/a; mountpoint -q . || echo plain"#,
                        directory(container)) == "b\na\nmore\n640\nyplain\n")
                #expect(!FileManager.default.fileExists(atPath: state(container)))
            }
        }

        private func time(_ date: String) async throws -> String {
            String(try await Command.script(#"date -d "$1" +%s"#, date).dropLast())
        }
    }
}
