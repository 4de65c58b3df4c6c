import Foundation
import Testing

extension RealMount {
    /// Encrypted containers: which devices get in, and which do not.
    @Suite(.needs("python3")) struct Enrolling: EncryptedContainerTests {
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
    }
}
