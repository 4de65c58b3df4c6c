import Foundation
import Testing

extension RealMount {
    /// Encrypted containers: who gets in, who does not, and what the store sees.
    @Suite(.needs("python3")) struct Encryption {
        /// One device A, and the other names unused: each test mounts what it needs.
        private func with(
            devices: [String] = ["A"], _ body: (MountedContainer) async throws -> Void
        ) async throws {
            try await MountedContainer.with(devices: devices, isEncrypted: true, body)
        }

        /// Runs the program without the passphrase in its environment, and without other states of this user.
        private func alone(
            _ container: MountedContainer, _ arguments: [String], _ variables: [String: String] = [:]
        ) async throws -> Command {
            var other = container
            other.passphrase = nil
            let home = ["XDG_STATE_HOME": container.directory + "/other-home"]
            return try await Command.run(
                ["setsid", "--wait", container.binary] + arguments, limit: .seconds(60),
                environment: other.environment.merging(home) { $1 }.merging(variables) { $1 })
        }

        private func mount(_ device: Device) -> [String] {
            ["mount", device.container.url, device.point, "--state", device.state, "--device-name", device.name]
        }

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

        @Test func `a device gets in by passphrase or recovery code, and then without either`() async throws {
            try await with { container in
                try await Command.script(#"echo text > "$1/f""#, container.a.point)
                try await container.a.sync()
                let b = container.b
                try FileManager.default.createDirectory(atPath: b.point, withIntermediateDirectories: true)
                let unasked = try await alone(container, mount(b))
                #expect(unasked.status == 77)
                #expect(
                    unasked.errors.contains("is encrypted, and this device is not enrolled: run this in a terminal"))
                let wrong = try await alone(container, mount(b), ["DEWPOINT_PASSPHRASE": "correct horse battery"])
                #expect(wrong.status == 77)
                #expect(wrong.errors.contains("the passphrase or recovery code is wrong"))
                #expect(!wrong.errors.contains("correct horse"))
                #expect(try listing(b.point) == [])

                let opened = try await alone(container, mount(b) + ["--passphrase-file", container.recoveryFile])
                try #require(opened.succeeded, "\(opened.errors)")
                #expect(try await Command.check(["cat", b.path("f")]) == "text\n")
                try await b.unmount()
                let again = try await alone(container, mount(b))
                try #require(again.succeeded, "\(again.errors)")
                #expect(try await Command.check(["cat", b.path("f")]) == "text\n")
                try await b.unmount()
                // Also while the store cannot be reached.
                if TestStore.chosen == .directory {
                    try await container.disconnect()
                    let offline = try await alone(container, mount(b))
                    try #require(offline.succeeded, "\(offline.errors)")
                    #expect(try await Command.check(["cat", b.path("f")]) == "text\n")
                    try await b.unmount()
                    try await container.reconnect()
                }
                let c = container.device("C")
                try FileManager.default.createDirectory(atPath: c.point, withIntermediateDirectories: true)
                let command = ["DEWPOINT_PASSPHRASE_COMMAND": "printf '%s\\nrest\\n' '\(container.passphrase ?? "")'"]
                let third = try await alone(container, mount(c), command)
                try #require(third.succeeded, "\(third.errors)")
                #expect(try await Command.check(["cat", c.path("f")]) == "text\n")
            }
        }

        @Test func `a device is enrolled by a code, and revoked it reads and writes nothing new`() async throws {
            try await with { container in
                let (a, b) = (container.a, container.b)
                try await Command.script(#"echo before > "$1/before""#, a.point)
                try await a.sync()
                try FileManager.default.createDirectory(atPath: b.point, withIntermediateDirectories: true)
                let enrolment = try await Command.check(
                    [
                        "bash", "-euo", "pipefail", "-c",
                        """
                        "$1" key enrol "$2" --state "$3" --device-name B > "$4/enrol" & asking=$!
                        until grep -q accept "$4/enrol"; do sleep 0.1; done
                        "$1" key accept "$5" "$(sed -n 's/.*MOUNTPOINT //p' "$4/enrol")"
                        wait $asking
                        """, "script", container.binary, container.url, b.state, container.directory, a.point,
                    ], limit: .seconds(60), environment: container.environment)
                #expect(enrolment == "B is enrolled\n")
                let mounted = try await alone(container, mount(b))
                try #require(mounted.succeeded, "\(mounted.errors)")
                #expect(try await Command.check(["cat", b.path("before")]) == "before\n")
                #expect(try await container.dewpoint(["key", "list", a.point]).contains("writer  B\n"))

                let own = try await Command.run(
                    [container.binary, "key", "revoke", b.point, "B"], environment: container.environment)
                #expect(own.status == 64)
                #expect(
                    own.errors
                        == "dewpoint: B is this device, and would lose the container: revoke it from another one, or remove its "
                        + "state if it is no longer used\n")
                #expect(try await container.dewpoint(["key", "revoke", a.point, "B"]).hasPrefix("B is revoked"))
                try await Command.script(#"echo after > "$1/after""#, a.point)
                try await a.sync()
                try await eventually(within: TestStore.travelLimit * 2, "B says that it was revoked") {
                    try await container.statusText().contains("this device is not enrolled in the encrypted container")
                }
                #expect(try listing(b.point) == ["before"])
                try await Command.script(#"echo mine > "$1/mine""#, b.point)
                let refused = try await Command.run(
                    [container.binary, "sync", b.point, "--wait"], limit: .seconds(30),
                    environment: container.environment)
                #expect(!refused.succeeded)
                #expect(try listing(a.point) == ["after", "before"])
                // With the passphrase it comes back, as another member, and what it had is not lost.
                try await b.unmount()
                let unasked = try await alone(container, mount(b))
                #expect(unasked.status == 77)
                try await b.mount()
                try await b.sync()
                try await a.sync()
                #expect(try listing(a.point) == ["after", "before", "mine"])
                #expect(try listing(b.point) == ["after", "before", "mine"])
                // Also at once, when it could not know yet that it was revoked.
                try await b.unmount()
                let members = try await container.dewpoint(["key", "list", a.point]).split(separator: "\n")
                let member = try #require(members.first { $0.hasSuffix("writer   B") })
                try await container.dewpoint(["key", "revoke", a.point, String(member.split(separator: " ")[0])])
                try await b.mount()
                try await Command.script(#"echo again > "$1/again""#, b.point)
                try await b.sync()
                try await a.sync()
                #expect(try listing(a.point) == ["after", "again", "before", "mine"])
            }
        }

        @Test func `a device that cannot be enrolled is told so, and leaves no member and no request`() async throws {
            try await with { container in
                let (a, directory) = (container.a, container.directory)
                let enrolled = try await alone(container, ["key", "enrol", container.url, "--state", a.state])
                #expect(enrolled.status == 64)
                #expect(
                    enrolled.errors.hasPrefix("dewpoint: this device is enrolled already, as "), "\(enrolled.errors)")

                // The state of another encrypted container: before anybody is asked.
                let passphrase = ["DEWPOINT_PASSPHRASE": "correct horse battery"]
                let other = "file://\(directory)/other"
                let create = [
                    "container", "create", other, "--id", "iCloud.a.b", "--encrypt", "--recovery-file",
                    directory + "/code",
                ]
                try #require(try await alone(container, create, passphrase).succeeded)
                let foreign = directory + "/other-home/dewpoint/iCloud.a.b"
                let refused = try await alone(container, ["key", "enrol", container.url, "--state", foreign])
                #expect(refused.status == 64)
                #expect(refused.errors.contains("has what opens another encrypted container"), "\(refused.errors)")

                // That of a plain one shows what it is only when the name of the container is known.
                let plain = "file://\(directory)/plain"
                try await container.dewpoint(["container", "create", plain, "--id", "iCloud.c.d"])
                let state = directory + "/plain-state"
                try await Command.script(
                    #"mkdir "$1/point"; "$2" mount "$3" "$1/point" --state "$4"; "$2" unmount "$1/point""#, directory,
                    container.binary, plain, state, environment: container.environment)
                let late = try await Command.check(
                    [
                        "bash", "-uo", "pipefail", "-c",
                        """
                        "$1" key enrol "$2" --state "$3" --device-name LATE > "$4/enrol" 2> "$4/said" & asking=$!
                        until grep -q accept "$4/enrol"; do sleep 0.1; done
                        "$1" key accept "$5" "$(sed -n 's/.*MOUNTPOINT //p' "$4/enrol")"
                        wait $asking; echo $?; cat "$4/said"
                        """, "script", container.binary, container.url, state, directory, a.point,
                    ], limit: .seconds(60), environment: container.environment)
                #expect(late.hasPrefix("LATE is enrolled\n64\n"), "\(late)")
                #expect(late.hasSuffix("; it is not enrolled any more\n"), "\(late)")
                #expect(try await container.dewpoint(["key", "list", a.point]).contains("revoked  LATE"))

                // Ended by a signal.
                let ended = try await Command.script(
                    #"""
                    "$1" key enrol "$2" --state "$3/new" > "$3/enrol2" & asking=$!
                    until grep -q accept "$3/enrol2"; do sleep 0.1; done
                    kill "$asking"; wait "$asking" || echo $?
                    """#, container.binary, container.url, directory, environment: container.environment)
                #expect(ended == "143\n")
                #expect(
                    try await Command.run(["find", try await container.objects(), "-path", "*/enrol/*"]).output == "")
            }
        }

        @Test(.needsRoot(to: "mount a small disk"))
        func `a device whose keys cannot be kept is not enrolled`() async throws {
            try await with { container in
                let b = container.b
                try await Command.script(
                    #"mkdir -p "$1" "$2"; mount -t tmpfs -o size=64k,mode=700 tmpfs "$1"; head -c 60K /dev/zero > "$1/fill""#,
                    b.state, b.point)
                let before = try await container.dewpoint(["key", "list", container.a.point])
                let mounted = try await Command.run(
                    [container.binary] + mount(b), limit: .seconds(60), environment: container.environment)
                try await Command.script(#"umount "$1""#, b.state)
                #expect(mounted.status == 73)
                #expect(
                    mounted.errors
                        == "dewpoint: the keys of this device cannot be kept in \(b.state), so it was not enrolled: "
                        + "No space left on device\n")
                #expect(try await container.dewpoint(["key", "list", container.a.point]) == before)
            }
        }

        @Test func `a second encrypted container of the same identifier leaves what opens the first`() async throws {
            try await with { container in
                let urls = ["first", "second"].map { "file://\(container.directory)/\($0)" }
                let passphrase = ["DEWPOINT_PASSPHRASE": "correct horse battery"]
                var said: [String] = []
                for (number, url) in urls.enumerated() {
                    let create = ["container", "create", url, "--id", MountedContainer.identifier, "--encrypt"]
                    let code = ["--recovery-file", "\(container.directory)/code-\(number)"]
                    let created = try await alone(container, create + code, passphrase)
                    try #require(created.succeeded, "\(created.errors)")
                    said.append(created.errors)
                }
                let refusal =
                    "\(container.directory)/other-home/dewpoint/\(MountedContainer.identifier) has what opens another "
                    + "encrypted container of the same identifier; give this one its own --state DIR, or remove that "
                    + "directory if the other one is gone\n"
                #expect(
                    said == [
                        "",
                        "dewpoint: this device cannot keep its keys, so the first mount asks for the passphrase: \(refusal)",
                    ])
                let first = try await alone(container, ["key", "list", urls[0]])
                #expect(first.output.contains("*"), "\(first.errors)")
                #expect(try await alone(container, ["key", "list", urls[1]]).status == 77)

                let before = try await alone(container, ["key", "list", urls[1]], passphrase).output
                let point = container.directory + "/point"
                try FileManager.default.createDirectory(atPath: point, withIntermediateDirectories: true)
                let mount = try await alone(container, ["mount", urls[1], point], passphrase)
                #expect((mount.status, mount.errors) == (64, "dewpoint: \(refusal)"))
                #expect(try await alone(container, ["key", "list", urls[1]], passphrase).output == before)
            }
        }

        @Test func `passphrase and recovery code are replaced`() async throws {
            try await with { container in
                let directory = container.directory
                try "another passphrase\n".write(toFile: directory + "/new", atomically: true, encoding: .utf8)
                try "short\n".write(toFile: directory + "/short", atomically: true, encoding: .utf8)
                func key(_ arguments: String...) async throws -> Command {
                    try await alone(container, ["key"] + arguments)
                }
                let short = try await key(
                    "passphrase", container.url, "--passphrase-file", container.recoveryFile, "--new-passphrase-file",
                    directory + "/short")
                #expect(short.status == 64)
                let replaced = try await key(
                    "passphrase", container.url, "--passphrase-file", container.recoveryFile, "--new-passphrase-file",
                    directory + "/new")
                try #require(replaced.succeeded, "\(replaced.errors)")
                let old = try await alone(
                    container, ["key", "list", container.url], ["DEWPOINT_PASSPHRASE": container.passphrase ?? ""])
                #expect(old.status == 77)
                #expect(try await key("list", container.url, "--passphrase-file", directory + "/new").succeeded)

                let code = directory + "/code"
                let recovery = try await key(
                    "recovery", container.url, "--passphrase-file", directory + "/new", "--recovery-file", code)
                try #require(recovery.succeeded, "\(recovery.errors)")
                #expect(try await key("list", container.url, "--passphrase-file", container.recoveryFile).status == 77)
                #expect(try await key("list", container.url, "--passphrase-file", code).succeeded)
                // The device goes on, with the new keys.
                try await Command.script(#"echo text > "$1/f""#, container.a.point)
                try await container.a.sync()
                let list = try await container.dewpoint(["key", "list", container.a.point])
                #expect(list.hasSuffix("epoch 3\n"), "\(list)")
            }
        }

        @Test func `the passphrase is nowhere but with who typed it`() async throws {
            try await with { container in
                let daemons = Leftovers.daemons(mentioning: container.a.state)
                try #require(daemons.count == 1)
                let passphrase = try #require(container.passphrase)
                for file in ["environ", "cmdline"] {
                    let text = try? Data(contentsOf: URL(fileURLWithPath: "/proc/\(daemons[0])/\(file)"))
                    #expect(text.map { !String(decoding: $0, as: UTF8.self).contains(passphrase) } ?? true)
                }
                let limits = try String(contentsOfFile: "/proc/\(daemons[0])/limits", encoding: .utf8)
                let core = try #require(limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") })
                #expect(["0", "1"].contains(core.split(separator: " ")[4]), "\(core)")
                let child = try await container.dewpoint(["coordinate", container.a.point, "--", "env"])
                #expect(!child.contains("DEWPOINT_PASSPHRASE"))
                try await container.dewpoint(
                    ["diagnose", container.a.point, "--output", container.directory + "/diagnosis.tar.gz"])
                let code = try String(contentsOfFile: container.recoveryFile, encoding: .utf8).dropLast()
                try await Command.script(
                    #"cd "$1"; mkdir d; tar -C d -xf diagnosis.tar.gz; rm -f recovery-code"#, container.directory)
                let keys = try String(contentsOfFile: container.a.state + "/keyring.json", encoding: .utf8)
                let ring = try #require(
                    JSONSerialization.jsonObject(with: Data(keys.utf8)) as? [String: Any])
                let access = try #require(ring["access"] as? [String: [String: Any]])
                let secret = try #require(access["device"]?["keys"] as? String)
                for text in [passphrase, String(code), secret] {
                    let found = try await Command.run(
                        ["grep", "-rlF", "--exclude=keyring.json", "-e", text, container.directory])
                    #expect(found.output == "")
                }
                let mode = try await Command.check(["stat", "-c", "%a", container.a.state + "/keyring.json"])
                #expect(mode == "600\n")
            }
        }

        /// The kinds of bytes are those of the unit tests.
        @Test func `a passphrase that is not UTF-8 is refused wherever it is given`() async throws {
            try await with { container in
                let b = container.b
                try FileManager.default.createDirectory(atPath: b.point, withIntermediateDirectories: true)
                let file = container.directory + "/bytes"
                try Data([0xff, 0xfe] + Array(" correct horse\n".utf8)).write(to: URL(filePath: file))
                func expect(
                    _ source: String, _ refused: Command, sourceLocation: SourceLocation = #_sourceLocation
                ) {
                    #expect(refused.status == 64, sourceLocation: sourceLocation)
                    #expect(
                        refused.errors == "dewpoint: \(source) is not UTF-8, as a passphrase must be\n",
                        sourceLocation: sourceLocation)
                }
                expect(
                    "the passphrase in the file \(file)",
                    try await alone(container, mount(b) + ["--passphrase-file", file]))
                expect(
                    "the passphrase that DEWPOINT_PASSPHRASE_COMMAND prints",
                    try await alone(container, mount(b), ["DEWPOINT_PASSPHRASE_COMMAND": "cat '\(file)'"]))
                var other = container
                other.passphrase = nil
                let script = #"DEWPOINT_PASSPHRASE=$(cat "$1") exec "${@:2}""#
                expect(
                    "the passphrase in DEWPOINT_PASSPHRASE",
                    try await Command.run(
                        ["setsid", "--wait", "bash", "-c", script, "script", file, container.binary] + mount(b),
                        limit: .seconds(60),
                        environment: other.environment.merging(
                            ["XDG_STATE_HOME": container.directory + "/other-home"]) { $1 }))
            }
        }

        @Test func `a terminal is asked, and shows nothing of the answer`() async throws {
            try await with { container in
                try FileManager.default.createDirectory(atPath: container.b.point, withIntermediateDirectories: true)
                var other = container
                other.passphrase = nil
                let output = try await Command.check(
                    [
                        Requirement.python, Driver.path("typing_passphrases.py"), container.binary, container.url,
                        container.b.point, container.b.state, container.passphrase ?? "", container.directory,
                    ], limit: .seconds(60),
                    environment: other.environment.merging(
                        ["XDG_STATE_HOME": container.directory + "/other-home"]) { $1 })
                #expect(output == "ok\n")
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

        @Test(.needsDirectory)
        func `a plain container is copied into an encrypted one and back, with all it holds`() async throws {
            try await MountedContainer.with(isEncrypted: false) { container in
                let (a, directory) = (container.a, container.directory)
                try await Command.script(
                    #"cd "$1"; mkdir d; seq 500000 > d/large; echo one > d/f; setfattr -n user.k -v v d/f; ln -s d/f l"#,
                    a.point)
                try await a.sync()
                try await Command.script(#"cd "$1"; echo second-version > d/f; echo gone > g"#, a.point)
                try await a.sync()
                try await Command.script(#"rm "$1/g""#, a.point)
                try await a.sync()
                try await a.evict("d/large")
                try "a new passphrase\n".write(toFile: directory + "/new", atomically: true, encoding: .utf8)
                let (safe, back) = ("file://\(directory)/safe", "file://\(directory)/back")
                let encrypting = ["--encrypt", "--new-passphrase-file", directory + "/new"]
                let copied = try await container.dewpoint(
                    ["container", "copy", container.url, safe, "--recovery-file", directory + "/code"] + encrypting)
                #expect(copied.hasPrefix("copied: ") && copied.contains("up to commit"), "\(copied)")
                let exchanged = try await Command.run(
                    [
                        container.binary, "mount", container.url, directory + "/none", "--state",
                        directory + "/none-state",
                        "--passphrase-file", directory + "/new",
                    ], limit: .seconds(60), environment: container.environment)
                #expect(exchanged.status == 64)
                #expect(exchanged.errors.contains("is not encrypted, although a passphrase file was given"))
                let itself = try await Command.run(
                    [container.binary, "container", "copy", safe, safe + "/", "--passphrase-file", directory + "/new"],
                    limit: .seconds(60), environment: container.environment)
                #expect(itself.status == 64)
                #expect(itself.errors == "dewpoint: \(safe)/ is the source itself; choose an empty place\n")
                // No device is a member of the copy yet, since none has its keys.
                let members = try await container.dewpoint(
                    ["key", "list", safe, "--passphrase-file", directory + "/new"])
                #expect(!members.contains("writer") && members.contains("revoked"), "\(members)")
                // A plain copy that was begun is not continued where an encrypted one is asked for.
                let half = "file://\(directory)/half"
                try await container.dewpoint(["container", "copy", container.url, half])
                let plain = try await Command.run(
                    [container.binary, "container", "copy", container.url, half, "--encrypt"], limit: .seconds(60),
                    environment: container.environment)
                #expect(
                    plain.status == 64 && plain.errors.contains("an encrypted one was asked for"), "\(plain.errors)")
                let mistaken = try await Command.run(
                    [
                        container.binary, "container", "copy", container.url, "file://\(directory)/else", "--encrypt",
                        "--passphrase-file", directory + "/new",
                    ], limit: .seconds(60),
                    environment: container.environment)
                #expect(mistaken.status == 64)
                #expect(
                    mistaken.errors.hasSuffix("; the passphrase of the copy is given with --new-passphrase-file\n"),
                    "\(mistaken.errors)")
                // One that fails leaves no file of a code, so that it can be made again.
                let failed = try await Command.run(
                    [
                        container.binary, "container", "copy", container.url, "file:///proc/none", "--recovery-file",
                        directory + "/unused",
                    ] + encrypting, limit: .seconds(60), environment: container.environment)
                #expect(!failed.succeeded && !FileManager.default.fileExists(atPath: directory + "/unused"))
                // Again: what is there is skipped.
                let again = try await container.dewpoint(
                    ["container", "copy", container.url, safe, "--json"] + encrypting)
                #expect(again.contains("\"objectCount\" : 0"), "\(again)")
                #expect(try await Command.run(["grep", "-rl", "second-version", directory + "/safe"]).output == "")
                let restored = try await container.dewpoint(
                    ["container", "copy", safe, back, "--passphrase-file", directory + "/code"])
                #expect(restored.hasPrefix("copied: "))
                try await Command.script(
                    #"diff -r "$1/remote/log" "$1/back/log"; diff -r "$1/remote/packs" "$1/back/packs""#, directory)

                // The device goes on with the copy, keeps what is local, and has versions and trash.
                try await a.unmount()
                try await container.dewpoint(
                    ["mount", safe, a.point, "--state", a.state, "--passphrase-file", directory + "/new"])
                let writers = try await container.dewpoint(["key", "list", a.point]).split(separator: "\n")
                #expect(writers.count { $0.contains("writer") } == 1, "\(writers)")
                #expect(try await a.attribute("isDownloaded", of: "d/f") == "1")
                #expect(try await a.attribute("isDownloaded", of: "d/large") == "0")
                try await Command.script(#"cd "$1"; seq 500000 | cmp - d/large; echo three > d/f"#, a.point)
                try await a.sync()
                #expect(try await container.dewpoint(["trash", "list", a.point]).contains("g"))
                #expect(try await container.dewpoint(["versions", a.path("d/f")]).split(separator: "\n").count >= 3)
                try await a.check()
                // Another container is no target.
                try await container.dewpoint(["container", "create", "file://\(directory)/other", "--id", "iCloud.a.b"])
                let other = try await Command.run(
                    [
                        container.binary, "container", "copy", safe, "file://\(directory)/other", "--passphrase-file",
                        directory + "/new",
                    ], limit: .seconds(60),
                    environment: container.environment)
                #expect(other.status == 73)
                #expect(
                    other.errors.contains("has another container, iCloud.a.b, and not a copy of"), "\(other.errors)")
            }
        }

        @Test(.needsDirectory)
        func `a copy says what is damaged or missing, on which side`() async throws {
            try await MountedContainer.with(isEncrypted: false) { container in
                let (a, directory) = (container.a, container.directory)
                try await Command.script(#"seq 500000 > "$1/f""#, a.point)
                try await a.sync()
                try await Command.script(#"echo more > "$1/g""#, a.point)
                try await a.sync()
                try await a.unmount()
                try "a new passphrase\n".write(toFile: directory + "/new", atomically: true, encoding: .utf8)
                func copy(to name: String, encrypting: Bool = false, from source: String? = nil) async throws -> Command
                {
                    let options = [
                        "--encrypt", "--new-passphrase-file", directory + "/new", "--recovery-file",
                        "\(directory)/code-\(name)",
                    ]
                    return try await Command.run(
                        [
                            container.binary, "container", "copy", source ?? container.url,
                            "file://\(directory)/\(name)",
                        ] + (encrypting ? options : []), limit: .seconds(60), environment: container.environment)
                }
                // Another spelling of the same place.
                try await Command.script(#"ln -s remote "$1/link""#, directory)
                for spelling in ["x/../remote", "remote/", "./remote", "link"] {
                    try FileManager.default.createDirectory(
                        atPath: directory + "/x", withIntermediateDirectories: true)
                    let itself = try await copy(to: spelling)
                    #expect(itself.status == 64 && itself.errors.contains("is the source itself"), "\(itself.errors)")
                }
                let localhost = try await copy(to: "remote", from: "FILE://localhost" + container.remote)
                #expect(localhost.status == 64, "\(localhost.errors)")

                // What is there, and cut.
                for (name, encrypting) in [("plain", false), ("safe", true)] {
                    let first = try await copy(to: name, encrypting: encrypting)
                    try #require(first.succeeded, "\(first.errors)")
                    try await Command.script(
                        #"truncate -s 1000 "$(find "$1" -path '*/packs/*' -type f -size +100k | head -1)""#,
                        "\(directory)/\(name)")
                    let again = try await copy(to: name, encrypting: encrypting)
                    #expect(again.status == 1, "\(again.output)")
                    #expect(
                        again.errors.hasPrefix(
                            "dewpoint: the container at file://\(directory)/\(name) is damaged: packs/"),
                        "\(again.errors)")
                    #expect(again.errors.contains("has another length than that of the source"))
                }
                // What the source lacks.
                try await Command.script(
                    #"mv "$(find "$1/packs" -type f -size +100k | head -1)" "$2/pack""#, container.remote, directory)
                for (name, encrypting) in [("plain2", false), ("safe2", true)] {
                    let lacking = try await copy(to: name, encrypting: encrypting)
                    #expect(lacking.status == 65)
                    #expect(lacking.output.hasPrefix("copied: "))
                    #expect(
                        lacking.errors.hasPrefix(
                            "dewpoint: \(container.url) is incomplete, and so is the copy: 1 problem\nf: the container lacks"
                        ),
                        "\(lacking.errors)")
                }
                let commit = "log/00000000000000000001"
                try FileManager.default.removeItem(atPath: "\(container.remote)/\(commit)")
                for (name, encrypting) in [("plain3", false), ("safe3", true)] {
                    let gap = try await copy(to: name, encrypting: encrypting)
                    #expect(gap.status == 1)
                    #expect(
                        gap.errors
                            == "dewpoint: the container at \(container.url) is damaged: \(commit): it is missing, "
                            + "although commit 2 exists: a copy would have the same gap\n", "\(gap.errors)")
                }
            }
        }

        @Test func `a recovery code is refused as a passphrase`() async throws {
            try await with { container in
                let code = container.recoveryFile
                let url = "file://\(container.directory)/other"
                for arguments in [
                    [
                        "container", "create", url, "--id", "iCloud.a.b", "--encrypt", "--passphrase-file", code,
                        "--recovery-file", container.directory + "/code",
                    ],
                    ["key", "passphrase", container.a.point, "--new-passphrase-file", code],
                    [
                        "container", "copy", container.url, url, "--encrypt", "--new-passphrase-file", code,
                        "--recovery-file", container.directory + "/code",
                    ],
                ] {
                    let refused = try await Command.run(
                        [container.binary] + arguments, environment: container.environment)
                    #expect(refused.status == 64)
                    #expect(
                        refused.errors
                            == "dewpoint: this is a recovery code, which cannot be a passphrase: choose another passphrase; "
                            + "a new code is made with: dewpoint key recovery\n", "\(arguments)")
                }
                #expect(!FileManager.default.fileExists(atPath: container.directory + "/other"))
                #expect(!FileManager.default.fileExists(atPath: container.directory + "/code"))
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
    }
}
