import Foundation
import Testing

extension RealMount {
    /// From a plain container into an encrypted one, and back.
    @Suite(.needs("python3")) struct ContainerCopies: EncryptedContainerTests {

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
                // The one from which it was copied is not mounted with the state of the copy.
                try await a.unmount()
                let former = try await Command.run(
                    [container.binary, "mount", container.url, a.point, "--state", a.state], limit: .seconds(60),
                    environment: container.environment)
                #expect(former.status == 64)
                #expect(
                    former.errors.hasPrefix(
                        "dewpoint: the container at \(container.url) is not encrypted, and the state \(a.state) is that of an "
                            + "encrypted one: mount that"), "\(former.errors)")
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

        @Test(.needsDirectory, arguments: [false, true])
        func `a copy is a container when it is complete, and is continued by the same command until then`(
            isEncrypted: Bool
        ) async throws {
            try await MountedContainer.with(isEncrypted: false) { container in
                let (a, directory) = (container.a, container.directory)
                try await Command.script(#"cd "$1"; seq 500000 > f; echo more > g"#, a.point)
                try await a.sync()
                try await a.unmount()
                try "a new passphrase\n".write(toFile: directory + "/new", atomically: true, encoding: .utf8)
                let (copy, url) = (directory + "/copy", "file://\(directory)/copy")
                let secret = ["--passphrase-file", directory + "/new"]
                func run(_ arguments: [String]) async throws -> Command {
                    try await Command.run(
                        [container.binary] + arguments, limit: .seconds(60), environment: container.environment)
                }
                let copying =
                    ["container", "copy", container.url, url]
                    + (isEncrypted
                        ? [
                            "--encrypt", "--new-passphrase-file", directory + "/new", "--recovery-file",
                            directory + "/code",
                        ]
                        : [])
                // As it is when it is killed before its last commit.
                #expect(try await run(copying).succeeded)
                try await Command.script(
                    #"cd "$1"; mv container.json copying.json; rm "log/$(ls log | tail -1)""#, copy)
                let sentence = "there is an unfinished copy of a container: repeat dewpoint container copy to finish it"
                let mount = try await run(
                    ["mount", url, directory + "/none", "--state", directory + "/none-state"]
                        + (isEncrypted ? secret : []))
                #expect(mount.status == 66)
                #expect(mount.errors == "dewpoint: the container at \(url) is incomplete: \(sentence)\n")
                let creation = try await run(["container", "create", url, "--id", "iCloud.a.b"])
                #expect(creation.status == 73)
                #expect(creation.errors.hasSuffix("\(sentence), or choose an empty place\n"), "\(creation.errors)")
                let restored = try await Command.run(
                    [Requirement.python, Requirement.sources + "/scripts/restore.py", copy, directory + "/out"]
                        + (isEncrypted ? secret : []), limit: .seconds(60))
                #expect(restored.status == 1)
                #expect(restored.errors.contains("has an unfinished copy of a container"), "\(restored.errors)")

                let finished = try await run(copying)
                #expect(finished.succeeded, "\(finished.errors)")
                #expect(FileManager.default.fileExists(atPath: copy + "/container.json"))
                #expect(!FileManager.default.fileExists(atPath: copy + "/copying.json"))
                try await container.dewpoint(
                    ["container", "export", url, directory + "/all"] + (isEncrypted ? secret : []))
                try await Command.script(#"seq 500000 | cmp - "$1/all/f"; grep -qx more "$1/all/g""#, directory)
                guard isEncrypted else { return }
                try await container.dewpoint(["key", "list", url, "--passphrase-file", directory + "/code"])
            }
        }
    }
}
