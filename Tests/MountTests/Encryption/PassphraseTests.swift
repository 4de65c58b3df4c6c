import Foundation
import Testing

extension RealMount {
    /// Encrypted containers: passphrases and recovery codes, wherever they are given.
    @Suite(.needs("python3")) struct Passphrases: EncryptedContainerTests {
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

        @Test func `why a container does not open is said where it can be known`() async throws {
            try await with { container in
                let b = container.b
                try FileManager.default.createDirectory(atPath: b.point, withIntermediateDirectories: true)
                let missing = try await alone(
                    container, mount(b) + ["--passphrase-file", container.directory + "/none"])
                #expect(missing.status == 66)
                #expect(missing.errors.contains("/none cannot be read: No such file or directory"))

                // One letter of the code was read wrongly.
                var code = Array(
                    try String(contentsOfFile: container.recoveryFile, encoding: .utf8)
                        .trimmingCharacters(in: .newlines))
                code[0] = code[0] == "A" ? "B" : "A"
                let mistyped = try await alone(container, mount(b), ["DEWPOINT_PASSPHRASE": String(code)])
                #expect(mistyped.status == 77)
                #expect(mistyped.errors.contains("if it is the recovery code, a letter of it is wrong or missing"))
                let wrong = try await alone(container, mount(b), ["DEWPOINT_PASSPHRASE": "wrong horse"])
                #expect(wrong.status == 77 && !wrong.errors.contains("recovery code, a letter"))

                try FileManager.default.createDirectory(atPath: b.state, withIntermediateDirectories: true)
                try Data("{".utf8).write(to: URL(filePath: b.state + "/keyring.json"))
                let damaged = try await alone(container, mount(b))
                #expect(damaged.status == 77)
                #expect(damaged.errors.contains("\(b.state)/keyring.json cannot be read: "))
                #expect(damaged.errors.hasSuffix("; remove it, and mount with the passphrase\n"))
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
    }
}
