import Foundation
import Model
import Testing

extension RealMount {
    /// A mount can always be ended and its state directory used again, whatever holds the mount.
    @Suite("Ending a mount and reusing its state") struct WayOut {
        @Test(.needsRoot(to: "make a mount namespace"))
        func `a copy of the mount in another mount namespace does not delay unmounting`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                try await Command.script(#"echo text > "$1/f""#, a.point)
                // The copy exists as long as the process.
                let copy = try await Command.script(
                    #"unshare --mount --propagation private sleep 120 > /dev/null 2>&1 & sleep 1; echo "$!""#, a.point)
                let process = try #require(pid_t(copy.trimmingCharacters(in: .newlines)))
                defer { kill(process, SIGKILL) }
                let result = try await Command.run(
                    [container.binary, "unmount", a.point], limit: .seconds(90), environment: container.environment)
                #expect(result.succeeded && result.seconds < 20, "\(result.seconds) s: \(result.errors)")
                let there = try await Command.run(
                    ["nsenter", "--mount", "--target", "\(process)", "cat", a.path("f")], limit: .seconds(10))
                #expect(there.errors.contains("not connected"), "\(there.output)\(there.errors)")
                try await a.mount()
                #expect(try await Command.check(["cat", a.path("f")]) == "text\n")
                try await a.check()
            }
        }

        @Test func `unmount reports changes that are not uploaded yet`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                try await container.dewpoint(["pause", a.point])
                try await a.write("f", byteCount: 3 << 20)
                let result = try await Command.run(
                    [container.binary, "unmount", a.point], environment: container.environment)
                #expect(result.succeeded)
                #expect(
                    result.errors.contains("not uploaded yet: 1 change (3.0 MiB), kept in \(a.state)"),
                    "\(result.errors)")
                try await a.mount()
                try await container.dewpoint(["resume", a.point])
                try await a.sync()
                let again = try await Command.run(
                    [container.binary, "unmount", a.point], environment: container.environment)
                #expect(again.succeeded && again.errors.isEmpty, "\(again.errors)")
            }
        }

        @Test func `the state directory remembers the device's name`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                try await a.unmount()
                try await container.dewpoint(["mount", container.url, a.point, "--state", a.state])
                #expect(try await container.dewpoint(["status"]).contains("device      \(a.name) ("))
                try await a.unmount()
                try await container.dewpoint([
                    "mount", container.url, a.point, "--state", a.state, "--device-name", "sofa",
                ])
                try await a.unmount()
                try await container.dewpoint(["mount", container.url, a.point, "--state", a.state])
                #expect(try await container.dewpoint(["status"]).contains("device      sofa ("))
            }
        }

        @Test func `status and no-download work while another mount is dead`() async throws {
            try await MountedContainer.with(devices: ["A", "B"]) { container in
                let (a, b) = (container.a, container.b)
                try await Command.script(#"echo needle > "$1/f""#, b.point)
                try a.crash()
                try await eventually(within: .seconds(5), "the daemon is gone") {
                    try await a.call("open", "new", "O_CREAT,O_WRONLY") == "ENOTCONN"
                }
                let status = try await Command.run([container.binary, "status"], environment: container.environment)
                #expect(status.errors.contains("the daemon of \(a.point) has died"))
                #expect(status.output.contains(b.point))
                let read = try await Command.run(
                    [container.binary, "no-download", "--", "cat", b.path("f")], environment: container.environment)
                #expect(read.status == 0 && read.output == "needle\n", "\(read.errors)")
            }
        }

        @Test(.needsRoot(to: "mount for other users"))
        func `another user's mount is reported as inaccessible`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                try await Command.script(
                    #"echo needle > "$1/f"; chmod 755 "$2"; chmod 644 "$1/f""#, a.point, container.directory)
                let other = ["setpriv", "--reuid=64999", "--regid=64999", "--clear-groups", container.binary]
                let status = try await Command.run(other + ["status"], environment: container.environment)
                #expect(status.errors.contains("\(a.point) belongs to root (user 0)"), "\(status.errors)")
                #expect(status.errors.contains("only that user and root can query its daemon"))
                let read = try await Command.run(
                    other + ["no-download", "--", "cat", a.path("f")], environment: container.environment)
                #expect(read.status == 0 && read.output == "needle\n", "\(read.errors)")
                #expect(read.errors.contains("so reads there do download"))
            }
        }

        @Test(.needsRoot(to: "act as another user"))
        func `the owner of a read-only file can set its attributes by their system.dewpoint names`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                try await Command.script(
                    #"echo text > "$1/f"; chown 64999:64999 "$1/f"; chmod 444 "$1/f"; ln -s f "$1/l""#, a.point)
                func act(_ user: Int, _ arguments: String...) async throws -> Command {
                    try await Command.run(
                        ["setpriv", "--reuid=\(user)", "--regid=\(user)", "--clear-groups"] + arguments)
                }
                let set = ["-n", "system.dewpoint.pinned", "-v", "1"]
                #expect(try await act(64999, "setfattr", set[0], set[1], set[2], set[3], a.path("f")).succeeded)
                let read = try await act(
                    64999, "getfattr", "--only-values", "--absolute-names", "-n", "system.dewpoint.pinned", a.path("f"))
                #expect(read.output == "1")
                #expect(try await a.attribute("pinned", of: "f") == "1")
                // The kernel does not check these names, so the daemon must refuse other users.
                for arguments in [["setfattr"] + set, ["getfattr", "-n", "system.dewpoint.pinned"]] {
                    let result = try await Command.run(
                        ["setpriv", "--reuid=64998", "--regid=64998", "--clear-groups"] + arguments + [a.path("f")])
                    #expect(result.errors.contains("Operation not permitted"), "\(arguments)")
                }
                try await Command.check(["setfattr", "-h", "-n", "dewpoint.pinned", "-v", "1", a.path("l")])
            }
        }

        /// What `scripts/restore.py` must reproduce: names, kinds, modes, times, targets, attributes and bytes.
        private static let tree = #"""
            cd "$1"; find . -mindepth 1 -printf '%P %y %m %T@ %l\n' | sort
            find . -type f -print0 | sort -z | xargs -0 sha256sum
            getfattr --only-values -n user.note kept/moved/small kept
            """#

        /// Runs `scripts/restore.py` with a passphrase or recovery code in its environment.
        private func restore(_ secret: String, _ arguments: String...) async throws -> Command {
            try await Command.run(
                [Requirement.python, Requirement.sources + "/scripts/restore.py"] + arguments, limit: .seconds(120),
                environment: ["DEWPOINT_PASSPHRASE": secret])
        }

        private func flipBit(of file: String, at offset: Int) throws {
            var bytes = try Data(contentsOf: URL(filePath: file))
            bytes[offset] ^= 1
            try bytes.write(to: URL(filePath: file))
        }

        @Test(.needsCryptography)
        func `restore.py rebuilds an encrypted container with the passphrase or the recovery code`() async throws {
            try await MountedContainer.with(isEncrypted: true) { container in
                let (a, directory) = (container.a, container.directory)
                // More than 64 chunks, so that they are in a manifest.
                try await a.write("large", byteCount: 66 << 20)
                try await Command.script(
                    #"""
                    cd "$1"; mkdir -p kept "ö d/moved"; : > empty; echo text > "ö d/moved/small"
                    echo line > $'two\nlines'
                    ln -s "ö d/moved/small" kept/link; ln -s /nowhere dangling; seq 100000 > kept/numbers
                    setfattr -n user.note -v "of a file" "ö d/moved/small"
                    setfattr -n user.note -v "of a directory" kept
                    chmod 400 empty; chmod 750 kept; touch -d "2001-02-03 04:05:06.789" kept/numbers
                    """#, a.point)
                try await a.sync()
                let rotated = try await container.dewpoint(["key", "rotate", a.point])
                #expect(rotated == "epoch 2 begins\n")
                // Some chunks of the file are of the first epoch, and its manifest is of the second.
                try await Command.script(
                    #"cd "$1"; echo more >> large; echo after > after; mv "ö d/moved" kept; rm dangling"#, a.point)
                try await a.sync()
                let ours = try await Command.script(Self.tree, a.point)
                let objects = try await container.objects()
                let passphrase = try #require(container.passphrase)
                let code = try String(contentsOfFile: container.recoveryFile, encoding: .utf8)
                    .trimmingCharacters(in: .newlines)
                for (name, secret) in [("by passphrase", passphrase), ("by code", code.lowercased())] {
                    let output = "\(directory)/\(name)"
                    let restored = try await restore(secret, objects, output)
                    #expect(restored.succeeded && restored.output.contains("; 0 damaged"), "\(restored.errors)")
                    #expect(try await Command.script(Self.tree, output) == ours)
                }
                let verified = try await restore(
                    "ignored", objects, "--verify-only", "--passphrase-file", container.recoveryFile)
                #expect(verified.succeeded, "\(verified.errors)")
            }
        }

        @Test(.needsCryptography)
        func `restore.py rebuilds an encrypted container whose log was trimmed`() async throws {
            try await MountedContainer.with(devices: [], isEncrypted: false) { container in
                let directory = container.directory
                let (generated, sealed, code) = (directory + "/generated", directory + "/sealed", directory + "/code")
                let passphrase = "a passphrase of some length"
                // It has a snapshot of commit 1, which is trimmed.
                try await Command.check(
                    [
                        Requirement.sources + "/scripts/generate-container", generated, "--items", "50",
                        "--directories", "5",
                    ])
                try await Command.script(#"printf '%s\n' "$2" > "$1/passphrase""#, directory, passphrase)
                try await container.dewpoint([
                    "container", "copy", "file://" + generated, "file://" + sealed, "--encrypt",
                    "--new-passphrase-file", directory + "/passphrase", "--recovery-file", code,
                ])
                let plain = directory + "/plain"
                try #require(try await restore("", generated, plain).succeeded)
                let secrets = [passphrase, try String(contentsOfFile: code, encoding: .utf8)]
                for (index, secret) in secrets.enumerated() {
                    let secret = secret.trimmingCharacters(in: .newlines)
                    let output = "\(directory)/output-\(index)"
                    let restored = try await restore(secret, sealed, output)
                    #expect(restored.succeeded && restored.errors.isEmpty, "\(restored.errors)")
                    #expect(restored.output.contains("commit 1: 50 items; restored 45 files"), "\(restored.output)")
                    try await Command.script(#"diff -r "$1" "$2""#, plain, output)
                    let verified = try await restore(secret, sealed, "--verify-only")
                    #expect(verified.succeeded && verified.output.contains("verified 45 files"), "\(verified.errors)")
                }
            }
        }

        @Test(.needsCryptography)
        func `restore.py takes nothing that former members made up, and all that they had written before`() async throws
        {
            let directory = FileManager.default.temporaryDirectory.appending(path: "histories-\(UUID())").path
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: directory) }
            let result = try await Command.run(
                [
                    Requirement.python, Requirement.sources + "/Tests/MountTests/Drivers/sealed_histories.py",
                    "--restore", Requirement.sources + "/scripts/restore.py", "--work", directory,
                ], limit: .seconds(300))
            #expect(result.succeeded && result.output == "18 cases\n", "\(result.output)\(result.errors)")
        }

        @Test(.needsCryptography)
        func `restore.py restores nothing by a wrong passphrase, and nothing that was changed`() async throws {
            try await MountedContainer.with(isEncrypted: true) { container in
                let (a, directory) = (container.a, container.directory)
                let (copy, output) = (directory + "/copy", directory + "/restored")
                let passphrase = try #require(container.passphrase)
                try await Command.script(#"echo text > "$1/f"; : > "$1/empty""#, a.point)
                try await a.sync()
                try await container.dewpoint(["key", "rotate", a.point])
                try await Command.script(#"cp -a "$1" "$2""#, try await container.objects(), copy)

                let wrong = try await restore(passphrase + "s", copy, output)
                #expect(wrong.status == 1 && wrong.errors.hasPrefix("the passphrase or recovery code is wrong"))
                #expect(!FileManager.default.fileExists(atPath: output))

                let packs = try await container.packs()
                try #require(packs.count == 1)
                // In the first segment: a header has 108 bytes.
                try flipBit(of: "\(copy)/\(packs[0])", at: 110)
                let damaged = try await restore(passphrase, copy, output)
                #expect(damaged.status == 1 && damaged.output.contains("; 1 damaged"), "\(damaged.output)")
                #expect(damaged.errors.contains("\(packs[0]): changed since it was sealed"), "\(damaged.errors)")
                #expect(try listing(output) == ["empty"])

                let ring = try await Command.script(#"echo "$1"/keyring/*/000001"#, copy)
                    .trimmingCharacters(in: .newlines)
                try flipBit(of: ring, at: 200)
                let refused = try await restore(passphrase, copy, directory + "/refused")
                #expect(refused.status == 1 && refused.errors.hasPrefix("the keyring is damaged or was exchanged"))
                #expect(refused.errors.contains("/000001: "), "\(refused.errors)")
                #expect(!FileManager.default.fileExists(atPath: directory + "/refused"))
            }
        }

        /// Runs `body` with a device whose state directory is on a small disk, and unmounts the disk however `body`
        /// ends.
        private func withSmallDisk(_ body: (MountedContainer) async throws -> Void) async throws {
            try await MountedContainer.with(devices: []) { container in
                let a = container.a
                try await Command.script(#"mkdir -p "$1"; mount -t tmpfs -o size=24m,mode=700 tmpfs "$1""#, a.state)
                do {
                    try await body(container)
                } catch {
                    await Leftovers.remove(container.directory)
                    throw error
                }
                try await Command.script(#"findmnt "$1" > /dev/null && umount --lazy "$1""#, a.state)
            }
        }

        @Test(.needsRoot(to: "mount a small disk"))
        func `a container mounts with a completely full state disk, and files can be evicted`() async throws {
            try await withSmallDisk { container in
                let a = container.a
                try await a.mount()
                try await a.write("f", byteCount: 10 << 20)
                let hash = try await a.sha256("f")
                try await a.sync()
                try await a.unmount()
                try await Command.script(
                    #"cat /dev/zero > "$1/ballast" 2> /dev/null || test $(stat -f -c %a "$1") = 0"#, a.state)
                try await a.mount()
                #expect(try await a.sha256("f") == hash)
                try await a.evict("f")
                try await a.write("g", byteCount: 100_000)
                try await a.sync()
                try await a.check()
                try await a.unmount()
            }
        }

        @Test(.needsRoot(to: "mount a small disk"))
        func `move-state moves a state directory to another disk, and a plain copy is refused`() async throws {
            try await withSmallDisk { container in
                let (a, directory) = (container.a, container.directory)
                let (copy, new) = (directory + "/copy", directory + "/new")
                try await a.mount()
                let away = try await a.placeholder("away", byteCount: 200_000)
                try await Command.script(
                    """
                    cd "$1"; echo text > f; ln f g; mkdir -p d/e; truncate -s 3M d/e/sparse; echo end >> d/e/sparse; ln -s f l
                    chmod 400 d/e/sparse; mkfifo p; chmod 700 d; chown 7:8 g
                    """, a.point)
                try await a.sync()
                try await container.dewpoint(["pause", a.point])
                try await Command.script(#"echo changed > "$1/d/here""#, a.point)
                let find =
                    #"cd "$1"; find . -printf '%P %y %m %U %G %s %l %n %T@\n' | sort; sha256sum f d/e/sparse d/here"#
                let before = try await Command.script(find, a.point)
                try await a.unmount()

                try await Command.check(["cp", "-a", a.state, copy])
                let refused = try await Command.run(
                    [container.binary, "mount", container.url, a.point, "--state", copy],
                    environment: container.environment)
                #expect(refused.status != 0 && refused.errors.contains("dewpoint move-state"), "\(refused.errors)")
                try await Command.check(["rm", "-r", copy])

                try await container.dewpoint(["move-state", a.state, new])
                #expect(try listing(a.state).isEmpty)
                try await container.dewpoint(["mount", container.url, a.point, "--state", new])
                #expect(try await Command.script(find, a.point) == before)
                try await a.check()
                try await container.dewpoint(["resume", a.point])
                try await a.sync()
                #expect(try await a.sha256("away") == away)
                try await a.check()
                // On the same disk, move-state renames the directory.
                try await a.unmount()
                try await container.dewpoint(["move-state", new, copy])
                try await container.dewpoint(["mount", container.url, a.point, "--state", copy])
                #expect(try await a.sha256("away") == away)
                try await a.unmount()
                try await container.b.mount()
                #expect(try await Command.check(["cat", container.b.path("d/here")]) == "changed\n")
            }
        }

        /// Each library makes one system call fail, as on a file system that lacks it.
        @Test(
            .needs("cc"),
            arguments: [
                (
                    "renameat2", "int renameat2(int a, const char *b, int c, const char *d, unsigned e)",
                    "RENAME_NOREPLACE"
                ),
                ("statvfs", "int statvfs(const char *a, void *b)", "statfs"),
            ])
        func `a state directory is refused on a file system that lacks a required feature`(
            call: String, declaration: String, lack: String
        ) async throws {
            try await MountedContainer.with(devices: []) { container in
                let (a, library) = (container.a, container.directory + "/lacking.so")
                try await Command.script(
                    #"mkdir "$3"; printf '#include <errno.h>\n%s { errno = EINVAL; return -1; }\n' "$1" | cc -w -shared -fPIC -x c -o "$2" -"#,
                    declaration, library, a.point)
                let result = try await Command.run(
                    [container.binary, "mount", container.url, a.point, "--state", a.state],
                    environment: container.environment.merging(["LD_PRELOAD": library]) { $1 })
                #expect(result.status != 0 && result.errors.contains(lack), "\(call): \(result.errors)")
                #expect(result.errors.contains("the file system of the state \(a.state)"), "\(result.errors)")
            }
        }
    }
}
