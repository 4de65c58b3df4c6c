import Foundation
import Testing

extension RealMount {
    /// Encrypted containers: what the store sees, and the commands on them.
    @Suite(.needs("python3")) struct Encryption: EncryptedContainerTests {
        @Test func `neither names nor bytes are in the store, and devices converge`() async throws {
            try await with(devices: ["A", "B"]) { container in
                let (a, b) = (container.a, container.b)
                let marks = (0..<40).map { "mark-\($0)-\(UInt64.random(in: 0...UInt64.max))" }
                for (index, mark) in marks.enumerated() {
                    let (name, text) = index % 2 == 0 ? (mark, "x") : ("f\(index)", mark)
                    try await Command.script(
                        #"mkdir -p "$1/d"; printf %s "$3" > "$1/d/$2"; setfattr -n user.note -v "$3" "$1/d/$2""#,
                        a.point,
                        name, text)
                }
                let hash = try await a.placeholder("large", byteCount: 3_000_000)
                try await a.sync()
                try await b.sync()
                #expect(try listing(b.point + "/d") == listing(a.point + "/d"))
                #expect(try await b.sha256("large") == hash)
                try await a.check()
                try await b.check()
                let objects = try await container.objects()
                for mark in marks + [hash, MountedContainer.identifier, "vm-name"] {
                    let found = try await Command.run(["grep", "-r", "-l", "-e", mark, objects])
                    #expect(found.output == "", "\(mark)")
                }
                let names = try await Command.check(["find", objects, "-name", "*\(hash.prefix(16))*"])
                #expect(names == "")
            }
        }

        @Test func `import, export, quota, garbage and check work on an encrypted container`() async throws {
            try await with { container in
                let directory = container.directory
                try await Command.script(
                    #"mkdir -p "$1/tree/d"; seq 100000 > "$1/tree/d/f"; : > "$1/tree/e""#, directory)
                let imported = try await alone(
                    container, ["container", "import", directory + "/tree", container.url, "--into", "in"],
                    ["DEWPOINT_PASSPHRASE": container.passphrase ?? ""])
                try #require(imported.succeeded, "\(imported.errors)")
                try await container.a.sync()
                try await Command.script(#"diff -r "$1/tree" "$1/A/in""#, directory)
                let exported = try await alone(
                    container,
                    [
                        "container", "export", container.url, directory + "/out", "--passphrase-file",
                        container.recoveryFile,
                    ])
                try #require(exported.succeeded, "\(exported.errors)")
                try await Command.script(#"diff -r "$1/tree" "$1/out/in""#, directory)
                try await container.dewpoint(["container", "quota", container.url, "5M"])
                #expect(
                    try await container.dewpoint(["container", "quota", container.url]).contains("(5242880 bytes)"))
                try await Command.script(#"rm -r "$1/A/in""#, directory)
                try await container.a.confirmDeletions()
                try await container.a.sync()
                try await container.dewpoint(["container", "gc", container.a.point, "--grace", "0s"])
                try await container.a.check()
                try await container.dewpoint(["check", container.a.point, "--bytes"])
                try await container.a.unmount()
                try await container.dewpoint(["check", "--state", container.a.state])
            }
        }

        @Test func `a reader's device mounts read-only, and checkpoints are the same where the history is`()
            async throws
        {
            try await with { container in
                let (a, b) = (container.a, container.b)
                try await Command.script(#"echo text > "$1/f""#, a.point)
                try await a.sync()
                try FileManager.default.createDirectory(atPath: b.point, withIntermediateDirectories: true)
                try await Command.check(
                    [
                        "bash", "-euo", "pipefail", "-c",
                        """
                        "$1" key enrol "$2" --state "$3" --device-name B > "$4/enrol" & asking=$!
                        until grep -q accept "$4/enrol"; do sleep 0.1; done
                        "$1" key accept "$5" --reader $(sed -n 's/.*MOUNTPOINT //p' "$4/enrol" | tr - ' ')
                        wait $asking
                        """, "script", container.binary, container.url, b.state, container.directory, a.point,
                    ], limit: .seconds(60), environment: container.environment)
                let mounted = try await alone(container, mount(b))
                try #require(mounted.succeeded, "\(mounted.errors)")
                #expect(mounted.errors.contains("the mount is read-only: the keyring lets this device only read"))
                #expect(try await Command.check(["cat", b.path("f")]) == "text\n")
                #expect(try await Command.run(["touch", b.path("g")]).errors.contains("Read-only file system"))
                try await b.sync()
                let words = try await container.dewpoint(["key", "checkpoint", a.point])
                #expect(words.hasPrefix("commit 1: "))
                #expect(try await container.dewpoint(["key", "checkpoint", b.point]) == words)
                #expect(try await container.dewpoint(["key", "list", b.point]).contains("reader  B"))
                let refused = try await Command.run(
                    [container.binary, "key", "rotate", b.point], limit: .seconds(30),
                    environment: container.environment)
                #expect(refused.status == 64)
                #expect(refused.errors.contains("only a device that may write can change the keyring"))
            }
        }

        @Test(.needsDirectory)
        func `without container.json nothing is created there, no device is let in, and sync says what to put back`()
            async throws
        {
            try await with { container in
                let (a, b) = (container.a, container.b)
                try await Command.script(#"echo text > "$1/f""#, a.point)
                try await a.sync()
                try await a.unmount()
                let stub = container.remote + "/container.json"
                let text = try String(contentsOfFile: stub, encoding: .utf8)
                try FileManager.default.moveItem(atPath: stub, toPath: container.directory + "/away.json")
                try FileManager.default.createDirectory(atPath: b.point, withIntermediateDirectories: true)
                let opened = try await alone(container, mount(b) + ["--passphrase-file", container.recoveryFile])
                #expect(opened.status == 66)
                #expect(opened.errors.contains("there are objects of an encrypted container in "), "\(opened.errors)")
                let created = try await alone(
                    container, ["container", "create", container.url, "--id", MountedContainer.identifier])
                #expect(created.status == 73)
                #expect(created.errors.contains("nothing was created or changed at"), "\(created.errors)")
                try await a.mount()
                try await Command.script(#"echo more > "$1/g""#, a.point)
                let stopped = try await Command.run(
                    [container.binary, "sync", a.point, "--wait"], limit: .seconds(30),
                    environment: container.environment)
                #expect(!stopped.succeeded)
                #expect(
                    stopped.errors.contains("it is missing; put it back as \(text); nothing is"), "\(stopped.errors)")
                try text.write(toFile: stub, atomically: true, encoding: .utf8)
                try await a.sync()
            }
        }

        @Test(.needsDirectory)
        func `a container that the store puts in its place is not mounted for it`() async throws {
            try await with { container in
                try await Command.script(#"echo text > "$1/f""#, container.a.point)
                try await container.a.sync()
                // A plain one, with the same id.
                let other = container.directory + "/plain"
                try await container.dewpoint(
                    ["container", "create", "file://" + other, "--id", MountedContainer.identifier])
                try await container.a.unmount()
                try await Command.script(#"rm -r "$1"; cp -a "$2" "$1""#, container.remote, other)
                try await container.a.mount()
                #expect(try await Command.check(["cat", container.a.path("f")]) == "text\n")
                try await Command.script(#"echo secret > "$1/g""#, container.a.point)
                let refused = try await Command.run(
                    [container.binary, "sync", container.a.point, "--wait"], limit: .seconds(30),
                    environment: container.environment)
                #expect(!refused.succeeded)
                #expect(try listing(container.a.point) == ["f", "g"])
                #expect(try await Command.run(["grep", "-rl", "secret", container.remote]).output == "")
            }
        }

        @Test(.needsDirectory)
        func `a keyring of which the newest version is gone stops sync until it is put back`() async throws {
            try await with { container in
                let a = container.a
                try await container.dewpoint(["key", "rotate", a.point])
                try await Command.script(#"echo one > "$1/one""#, a.point)
                try await a.sync()
                try await Command.script(
                    #"""
                    cd "$1"; mkdir away; newest=$(ls -d remote/keyring/*/0* | tail -n 1)
                    echo "$newest" > away/name; mv "$newest" away/ring; sleep 6; echo two > A/two
                    """#,
                    container.directory)
                let stopped = try await Command.run(
                    [container.binary, "sync", a.point, "--wait"], limit: .seconds(60),
                    environment: container.environment)
                #expect(!stopped.succeeded)
                #expect(
                    stopped.errors.contains(
                        "of the keyring, which this device knows, is missing or another one"),
                    "\(stopped.errors)")
                #expect(
                    try await container.dewpoint(["status", a.point]).contains(
                        "of the keyring, which this device knows"))
                try await Command.script(#"cd "$1"; mv away/ring "$(cat away/name)""#, container.directory)
                try await eventually("sync does not go on") {
                    try await container.dewpoint(["status", a.point]).contains("everything is uploaded")
                }
                try await a.check()
            }
        }
    }
}
