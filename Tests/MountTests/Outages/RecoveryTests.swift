import Foundation
import Testing

extension RealMount {
    /// What a lost machine had not uploaded is brought back from its state directory.
    @Suite("Recovery from a state") struct Recovery {
        /// How many random states are recovered; more with `DEWPOINT_LONG`.
        private static let rounds = Requirement.long ? 200 : 8

        @Test(.timeLimit(.minutes(60)))
        func `a recovered state brings back what the lost machine showed`() async throws {
            try await MountedContainer.with(devices: []) { container in
                let printed = try await Command.check(
                    [
                        Requirement.python, Driver.path("recovery.py"), "--binary", container.binary, "--rounds",
                        "\(Self.rounds)", "--work", container.directory + "/recovery",
                    ] + (container.bucketURL.map { ["--url", $0 + "-recovery"] } ?? []),
                    limit: .seconds(60 + Self.rounds * 60), environment: container.environment)
                print(printed, terminator: "")
            }
        }

        private func lose(_ a: Device) async throws {
            try a.crash()
            try await Command.script(#"umount --lazy "$1" || fusermount3 -uz "$1""#, a.point)
        }

        @Test func `an edit that meets another device's edit becomes a conflict version, and is named`() async throws {
            try await MountedContainer.with(devices: ["A", "B"]) { container in
                let (a, b) = (container.a, container.b)
                try await Command.script(#"echo base > "$1/f"; echo gone > "$1/g""#, a.point)
                try await a.sync()
                try await b.sync()
                try await container.dewpoint(["pause", a.point])
                try await Command.script(
                    #"echo lost > "$1/f"; echo new > "$1/new"; chmod 640 "$1/new"; rm "$1/g"; mkdir "$1/x.nosync"; echo i > "$1/x.nosync/i""#,
                    a.point)
                try await lose(a)
                try await Command.script(#"echo newer > "$1/f""#, b.point)
                try await b.sync()
                let text = try await container.dewpoint(["recover", a.state, b.point])
                #expect(
                    text == """
                        2 changes of \(a.state) are in the container now
                        changed elsewhere too, both versions are kept (dewpoint conflicts \(b.point)):
                          f
                        not known to the container, copied:
                          x.nosync
                        deleted on the old machine, still there (to delete them too, run this again with --deletions):
                          g

                        """)
                let all = try await Command.script(#"cd "$1"; cat g new x.nosync/i; stat -c %a new"#, b.point)
                #expect(all == "gone\nnew\ni\n640\n")
                let versions = try await container.dewpoint(["versions", b.path("f"), "--json"])
                #expect(versions.contains("conflict"), "\(versions)")
            }
        }

        @Test func `without an index, new and changed files are copied and nothing is replaced`() async throws {
            try await MountedContainer.with(devices: ["A", "B"]) { container in
                let (a, b) = (container.a, container.b)
                try await Command.script(
                    #"echo base > "$1/f.txt"; echo same > "$1/same"; echo x > "$1/.y.icloud""#, a.point)
                try await a.sync()
                try await b.sync()
                try await container.dewpoint(["pause", a.point])
                try await Command.script(
                    #"echo lost > "$1/f.txt"; mkdir "$1/d"; umask 022; echo new > "$1/d/new"; echo xx > "$1/.y.icloud""#,
                    a.point)
                try await lose(a)
                try await Command.script(
                    #"head -c 5000 /dev/urandom > "$1/index.sqlite"; rm -f "$1"/index.sqlite-*"#, a.state)
                let result = try await Command.run(
                    [container.binary, "recover", a.state, b.point], limit: .seconds(60),
                    environment: container.environment)
                #expect(result.succeeded, "\(result.errors)")
                #expect(
                    result.errors.contains("the index of \(a.state) cannot be used, only its files"), "\(result.errors)"
                )
                // Once more: what was copied is recognised.
                try await container.dewpoint(["recover", a.state, b.point])
                let all = try await Command.script(
                    #"cd "$1"; ls -A; cat f.txt "f 2.txt" d/new .y.icloud ".y 2.icloud"; stat -c %a d/new"#, b.point)
                #expect(
                    all == """
                        .y 2.icloud
                        .y.icloud
                        d
                        f 2.txt
                        f.txt
                        same
                        base
                        lost
                        new
                        x
                        xx
                        644

                        """)
            }
        }

        @Test func `a recovery that was killed can be repeated, also from a disk that cannot be written`() async throws
        {
            try await MountedContainer.with(devices: ["A", "B"]) { container in
                let (a, b) = (container.a, container.b)
                try await container.dewpoint(["pause", a.point])
                try await a.write("f", byteCount: 30_000_000)
                let hash = try await a.sha256("f")
                try await lose(a)
                for milliseconds in [50, 100, 150, 200, 250, 300, 350, 400] {
                    _ = try await Command.run(
                        [
                            "timeout", "--signal=KILL", "0.\(milliseconds < 100 ? "0" : "")\(milliseconds)",
                            container.binary,
                            "recover", a.state, b.point,
                        ], environment: container.environment)
                }
                try await Command.script(#"chmod -R a-w "$1""#, a.state)
                try await container.dewpoint(["recover", a.state, b.point])
                try await Command.script(#"chmod -R u+w "$1""#, a.state)
                #expect(try await b.sha256("f") == hash)
                #expect(try listing(b.point) == ["f"])
                #expect(try listing(b.state).filter { $0.hasPrefix("recovering") }.isEmpty)
                #expect(Leftovers.mountpoints(below: container.directory) == [b.point])
            }
        }

        @Test func `more directories side by side than the command may open are recovered`() async throws {
            try await MountedContainer.with(devices: ["A", "B"]) { container in
                let (a, b) = (container.a, container.b)
                try await container.dewpoint(["pause", a.point])
                try await Command.script(
                    #"cd "$1"; for n in $(seq 300); do mkdir $n; echo $n > $n/f; done"#, a.point)
                try await lose(a)
                let text = try await Command.script(
                    #"ulimit -Sn 128; "$1" recover "$2" "$3""#, container.binary, a.state, b.point,
                    environment: container.environment)
                #expect(text == "600 changes of \(a.state) are in the container now\n")
                #expect(try await Command.script(#"cat "$1"/*/f | wc -l"#, b.point) == "300\n")
            }
        }

        @Test(.enabled(if: !Requirement.root, "root may open every directory"))
        func `a directory that may not be opened is named, and gets no second one beside it`() async throws {
            try await MountedContainer.with(devices: ["A", "B"]) { container in
                let (a, b) = (container.a, container.b)
                try await Command.script(#"mkdir "$1/d"; echo old > "$1/d/old""#, a.point)
                try await a.sync()
                try await b.sync()
                try await container.dewpoint(["pause", a.point])
                try await Command.script(#"echo new > "$1/d/new"; echo new > "$1/new""#, a.point)
                try await lose(a)
                try await Command.script(#"rm -f "$1"/index.sqlite*"#, a.state)
                try await Command.script(#"chmod 0 "$1/d""#, b.point)
                let result = try await Command.run(
                    [container.binary, "recover", a.state, b.point], limit: .seconds(60),
                    environment: container.environment)
                try await Command.script(#"chmod 755 "$1/d""#, b.point)
                let all = try await Command.script(#"cd "$1"; ls -A . d; cat new"#, b.point)
                #expect(all == ".:\nd\nnew\n\nd:\nold\nnew\n")
                #expect(
                    "\(result.output)\(result.errors)".contains(
                        "d cannot be copied: open or create d: Permission denied"),
                    "\(result.output)\(result.errors)")
                try await container.dewpoint(["recover", a.state, b.point])
                #expect(try await Command.script(#"cat "$1/d/new""#, b.point) == "new\n")
            }
        }

        @Test func `what cannot be recovered is refused with a sentence`() async throws {
            try await MountedContainer.with(devices: ["A", "B"]) { container in
                let (a, b) = (container.a, container.b)
                func refusal(_ arguments: String...) async throws -> String {
                    let result = try await Command.run(
                        [container.binary, "recover"] + arguments, limit: .seconds(60),
                        environment: container.environment)
                    return "\(result.status): \(result.errors)"
                }
                let own = try await refusal(b.state, b.point)
                #expect(own == "64: dewpoint: \(b.state) is the state of \(b.point) itself; nothing in it is lost\n")
                let used = try await refusal(a.state, b.point)
                #expect(
                    used == "75: dewpoint: a daemon uses the state \(a.state); unmount the container first\n", "\(used)"
                )
                let none = try await refusal("/nowhere", b.point)
                #expect(none == "66: dewpoint: there is no state in /nowhere: No such file or directory\n", "\(none)")
                #expect(try listing(b.state).filter { $0.hasPrefix("recovering") }.isEmpty)
            }
        }
    }
}
