import Foundation
import Model
import Testing

extension RealMount {
    @Suite("Faults") struct Faults {
        @Test(arguments: ["damaged", "shortened", "missing"])
        func `a damaged or missing pack affects only the files in it`(how: String) async throws {
            try await MountedContainer.with(options: "network_timeout=2s") { container in
                let a = container.a
                _ = try await a.placeholder("bad", byteCount: 50_000)
                let pack = try #require(try await container.packs().first)
                let good = try await a.placeholder("good", byteCount: 50_000)
                let spoil = [
                    "damaged": #"printf XXXXXXXX | dd of="$1" bs=1 seek=20000 conv=notrunc status=none"#,
                    "shortened": #"truncate -s 20000 "$1""#, "missing": #"rm "$1""#,
                ]
                try await container.change(pack, try #require(spoil[how]))
                // A missing pack may still appear.
                let answer = how == "missing" ? "EREMOTEIO" : "EIO"
                #expect(try await a.call("read", "bad", "19000", "5000") == answer)
                #expect(try await a.call("setxattr", "bad", "user.dewpoint.download", "wait") == answer)
                try await Driver.run("refusals.py", a.path("bad"), answer, container.directory)
                #expect(try await a.sha256("good") == good)
                #expect(try await a.call("stat", "bad") == "OK 50000")
                #expect(try await a.downloadingStatus("bad") == .notDownloaded)
                #expect(
                    try await a.call("getxattr", "bad", "user.dewpoint.downloadingError").hasPrefix(
                        "OK NSCocoaErrorDomain "))
                for (options, finds) in [([], how != "damaged"), (["--bytes"], true)] {
                    let check = try await Command.run(
                        [container.binary, "check", a.point] + options, environment: container.environment)
                    // A pack of the right length is read only with --bytes.
                    #expect(check.status == (finds ? 65 : 0), "\(check.output)")
                    #expect(
                        check.output.hasPrefix("bad: ") == finds && !check.output.contains("good"), "\(check.output)")
                }
                try await a.write("new", byteCount: 1000)
                try await a.sync()
            }
        }

        @Test(.needsDirectory)
        func `without the store, local work continues and the rest fails within the documented time`()
            async throws
        {
            try await MountedContainer.with(options: "network_timeout=3s") { container in
                let a = container.a
                let hash = try await a.placeholder("away", byteCount: 50_000)
                try await a.write("here", byteCount: 50_000)
                try await a.sync()
                try await Command.check(["mv", container.remote, container.remote + "-away"])

                let start = ContinuousClock.now
                let answer = try await a.call("read", "away", "0", "10")
                #expect(["EHOSTUNREACH", "ENETUNREACH", "ETIMEDOUT"].contains(answer), "\(answer)")
                #expect(try await a.call("setxattr", "away", "user.dewpoint.download", "wait") == "EHOSTUNREACH")
                #expect(ContinuousClock.now - start < .seconds(12))
                _ = try await a.sha256("here")
                try await Command.script(
                    #"cd "$1"; echo more >> here; mkdir new; mv here new/; ls -l new; rm -r new; echo x > y"#, a.point)

                // An empty directory in its place is not taken for an empty container.
                try await Command.check(["mkdir", container.remote])
                try await Command.script(#"sleep 1; ls "$1""#, a.point)
                #expect(try listing(a.point) == ["away", "y"])
                try await Command.check(["rmdir", container.remote])

                try await Command.check(["mv", container.remote + "-away", container.remote])
                try await a.sync()
                #expect(try await a.sha256("away") == hash)
                try await a.check()
            }
        }

        @Test(.needsRoot(to: "change the limits of another process"))
        func `a program that opens as many files as it can gets EMFILE, and others open theirs`() async throws {
            try await MountedContainer.with { container in
                let daemons = Leftovers.daemons(mentioning: container.a.state)
                try #require(daemons.count == 1)
                try await Driver.run(
                    "descriptors.py", container.a.point, "\(daemons[0])", container.binary,
                    environment: container.environment)
                try await container.a.check()
            }
        }

        @Test(.needsRoot(to: "mount a small disk"))
        func `a full disk refuses writes and downloads that do not fit, and no data is lost`() async throws {
            try await MountedContainer.with(devices: []) { container in
                let a = container.a
                try await Command.script(#"mkdir -p "$1"; mount -t tmpfs -o size=48m,mode=700 tmpfs "$1""#, a.state)
                do {
                    try await a.mount()
                    try await Command.script(#"head -c 10M /dev/urandom > "$1/kept"; sync "$1/kept""#, a.point)
                    try await a.sync()
                    let hash = try await a.sha256("kept")
                    let full = try await Command.run([
                        "dd", "if=/dev/zero", "of=" + a.path("large"), "bs=1M", "count=100",
                    ])
                    #expect(full.status == 1)
                    #expect(full.errors.contains("No space left on device"), "\(full.errors)")
                    #expect(try await a.sha256("kept") == hash)
                    try await Command.check(["rm", a.path("large")])
                    try await Command.script(#"echo alive > "$1/after"; cat "$1/after""#, a.point)
                    try await a.sync()
                    try await a.check()

                    // A download that does not fit.
                    try await a.evict("kept")
                    try await Command.script(
                        #"head -c $(($(stat -f -c '%a * %S' "$1") - (6 << 20))) /dev/zero > "$1/ballast""#, a.state)
                    #expect(try await a.call("setxattr", "kept", "user.dewpoint.download", "wait") == "ENOSPC")
                    try await Command.check(["rm", a.state + "/ballast"])
                    #expect(try await a.sha256("kept") == hash)
                    try await a.unmount()
                } catch {
                    await Leftovers.remove(container.directory)
                    throw error
                }
                try await Command.check(["umount", "--lazy", a.state])
            }
        }

        @Test(.needsRoot(to: "mount a small disk"))
        func `on a full disk, files can be removed and existing bytes can be overwritten`() async throws {
            try await MountedContainer.with(devices: []) { container in
                let a = container.a
                let image = container.directory + "/image"
                try await Command.script(
                    #"truncate -s 128M "$2"; mkfs.ext4 -q -m 0 "$2"; mkdir "$1"; mount -o loop "$2" "$1""#, a.state,
                    image)
                do {
                    try await a.mount()
                    let script = #"""
                        cd "$1"; head -c 88M /dev/zero > large; mkdir d; errors=$(mktemp)
                        fill() { for i in $(seq 20000); do head -c 1000 /dev/zero > d/$1-$i || return 0; done; }
                        fill a 2>"$errors" & fill b 2>/dev/null & wait
                        grep -o "No space left on device" "$errors"; rm "$errors"
                        dd if=/dev/urandom of=large bs=1M count=8 conv=notrunc status=none
                        rm -r d && mkdir again && ls
                        """#
                    let listed = try await Command.script(script, a.point, limit: .seconds(240))
                    #expect(listed == "No space left on device\nagain\nlarge\n")
                    try await a.confirmDeletions()
                    try await a.sync()
                    try await a.check()
                    try await a.unmount()
                } catch {
                    await Leftovers.remove(container.directory)
                    throw error
                }
                try await Command.check(["umount", "--lazy", a.state])
            }
        }

        @Test(.needsRoot(to: "mount a disk that fails"))
        func `a state directory that turns read-only loses nothing that was fsynced`() async throws {
            try await MountedContainer.with(devices: []) { container in
                let a = container.a
                let image = container.directory + "/image"
                try await Command.script(
                    #"truncate -s 96M "$2"; mkfs.ext4 -q -e remount-ro "$2"; mkdir "$1"; mount -o loop "$2" "$1""#,
                    a.state,
                    image)
                do {
                    try await a.mount()
                    try await a.write("uploaded", byteCount: 300_000)
                    try await a.sync()
                    try await container.dewpoint(["pause", a.point])
                    try await a.write("here", byteCount: 300_000)
                    try await Command.script(#"sync "$1/here" "$1""#, a.point)
                    let hashes = [try await a.sha256("uploaded"), try await a.sha256("here")]
                    // As when a disk fails: the kernel makes the file system read-only.
                    try await Command.script(
                        #"d=$(findmnt -n -o SOURCE "$1"); echo test > "/sys/fs/ext4/${d#/dev/}/trigger_fs_error"; sleep 0.2; ! touch "$1/x" 2> /dev/null"#,
                        a.state)
                    for call in [["open", "new", "O_CREAT,O_WRONLY"], ["mkdir", "folder"], ["unlink", "here"]] {
                        let answer = try await a.call(call[0], call[1], arguments: Array(call.dropFirst(2)))
                        #expect(["EROFS", "EIO"].contains(answer), "\(call): \(answer)")
                    }
                    #expect(try listing(a.point) == ["here", "uploaded"])
                    #expect(try await a.sha256("uploaded") == hashes[0])
                    #expect(try await a.sha256("here") == hashes[1])
                    // The daemon need not end cleanly: it has nowhere to record that.
                    _ = try await Command.run(
                        [container.binary, "unmount", a.point], environment: container.environment)
                    await Leftovers.end(mentioning: a.state)
                    let refused = try await Command.run(
                        [container.binary, "mount", container.url, a.point, "--state", a.state],
                        environment: container.environment)
                    #expect(refused.status != 0 && refused.errors.contains("ead-only"), "\(refused.errors)")

                    try await Command.script(
                        #"umount "$1"; e2fsck -fy "$2" > /dev/null || [ $? -le 1 ]; mount -o loop "$2" "$1""#, a.state,
                        image)
                    try await a.mount()
                    try await container.dewpoint(["resume", a.point])
                    try await a.sync()
                    // A file that was uploaded but not fsynced is downloaded again.
                    #expect(try await [a.sha256("uploaded"), a.sha256("here")] == hashes)
                    try await a.check()
                    try await container.b.mount()
                    #expect(try await container.b.sha256("here") == hashes[1])
                    try await a.unmount()
                } catch {
                    await Leftovers.remove(container.directory)
                    throw error
                }
                try await Command.check(["umount", a.state])
            }
        }

        @Test func `a truncated snapshot is skipped, and a device that has no other reports it`() async throws {
            try await MountedContainer.with(devices: []) { container in
                let (a, b, generated) = (container.a, container.b, container.directory + "/generated")
                try await Command.check([
                    Requirement.python, Requirement.sources + "/scripts/generate-container", generated, "--items",
                    "300",
                ])
                try await container.replace(with: generated)
                try await a.mount()
                try await a.write("tail", byteCount: 1000)
                try await a.sync()
                let count = try listing(a.point).count
                #expect(count > 1)

                // The first half of a snapshot, stored as a newer one.
                let first = "snapshot/00000000000000000001"
                let half = container.directory + "/half"
                try await Command.script(
                    #"head -c $(($(stat -c %s "$1") / 2)) "$1" > "$2""#, generated + "/" + first, half)
                try await container.put(half, as: "snapshot/00000000000000000002")
                try await b.mount()
                try await b.sync()
                #expect(try listing(b.point) == listing(a.point))
                #expect(try await b.sha256("tail") == a.sha256("tail"))
                // Nothing but the snapshot is wrong.
                let check = try await Command.run(
                    [container.binary, "check", b.point], environment: container.environment)
                #expect(check.status == 65)
                #expect(check.output == "snapshot 2: no new device can read it: not a complete gzip member\n")

                try await container.put(half, as: first)
                let c = container.device("C")
                try await c.mount()
                let sync = try await Command.run(
                    [container.binary, "sync", c.point, "--wait"], environment: container.environment)
                #expect(sync.status != 0 && sync.errors.contains("no snapshot"), "\(sync.errors)")
                #expect(try await container.statusOfAll().contains("no snapshot"))
                #expect(try listing(c.point).isEmpty)
                // Devices that have the whole tree continue to sync.
                try await a.write("more", byteCount: 1000)
                try await a.sync()
                try await b.sync()
                #expect(try await b.sha256("more") == a.sha256("more"))
                #expect(try listing(b.point).count == count + 1)
            }
        }

        @Test func `an emptied backing directory stops sync and deletes nothing`() async throws {
            try await MountedContainer.with(devices: ["A"]) { container in
                let a = container.a
                for name in ["one", "two"] { try await a.write(name, byteCount: 5000) }
                try await a.sync()
                try await a.unmount()
                try await Command.script(#"mv "$1" "$1-away"; mkdir "$1""#, a.backing)
                let result = try await Command.run(
                    [container.binary, "mount", container.url, a.point, "--state", a.state],
                    environment: container.environment)
                if result.succeeded {
                    try await a.unmount()
                } else {
                    #expect(!(result.output + result.errors).isEmpty)
                }
                try await container.b.mount()
                try await container.b.sync()
                #expect(try listing(container.b.point) == ["one", "two"])
                try await Command.script(#"rm -rf "$1"; mv "$1-away" "$1""#, a.backing)
                try await a.mount()
                #expect(try listing(a.point) == ["one", "two"])
                try await a.check()
            }
        }

        @Test(
            .needsDirectory,
            arguments: [
                "leads out", "is a path", "is absolute", "is empty", "is the parent", "is the directory itself",
                "has a NUL",
                "is too long", "cycle", "parent that is a file", "parent that is missing", "itself as parent",
                "negative size", "sizes that do not add up", "negative chunk", "negative offset", "huge hole",
                "no kind",
                "root",
            ])
        func `a hostile record harms neither the mount nor any other file`(how: String) async throws {
            try await MountedContainer.with { container in
                let a = container.a
                try await a.write("folder/kept", byteCount: 5000)
                try await a.sync()
                let hash = try await a.sha256("folder/kept")
                try await Driver.run("hostile.py", how, container.remote)
                // The commit is seen at once, but nothing reports that it was refused.
                try await Task.sleep(for: .milliseconds(300))
                #expect(try await a.sha256("folder/kept") == hash)
                // Files may appear and disappear while find runs.
                let found = try await Command.script(
                    #"find "$1" -maxdepth 3 -name 'hostile*' 2> /dev/null || true"#, container.directory)
                #expect(
                    found.split(separator: "\n").allSatisfy {
                        $0.hasPrefix(a.point + "/") || $0.hasPrefix(a.backing + "/")
                    },
                    "\(found)")
                #expect(!FileManager.default.fileExists(atPath: "/tmp/hostile"))
                try await a.write("after", byteCount: 100)
                try await a.unmount()
                try await a.mount()
                #expect(try await a.sha256("folder/kept") == hash)
                #expect(FileManager.default.fileExists(atPath: a.path("after")))
                // Listing the whole tree must end.
                try await Command.script(#"cd "$1"; find . -exec stat {} + > /dev/null"#, a.point, limit: .seconds(10))
            }
        }

        @Test(.needsDirectory)
        func `a tree that no path leads through costs the daemon little memory`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                try await a.write("kept", byteCount: 10)
                try await a.sync()
                try await Driver.run("hostile.py", "deep", container.remote)
                try await a.sync()
                // Whole paths of all items would take gigabytes, in the daemon and in the command.
                let listed = try await frugal(container, ["query", "TRUEPREDICATE", a.point])
                #expect(listed.split(separator: "\n").count { $0.contains("hostile-") } >= 5000)
                // The same by any program, from below: two hundred directories are too deep for a path, too.
                try await Command.script(
                    #"cd "$1"; for i in $(seq 200); do mkdir "$2$i" && cd "$2$i" || exit 1; done; echo in > last"#,
                    a.point, String(repeating: "d", count: 240), limit: .seconds(60))
                for arguments in [
                    ["conflicts", a.point], ["trash", "list", a.point], ["status", a.point],
                    ["versions", a.path("kept")],
                ] {
                    try await frugal(container, arguments)
                }
                try await a.sync()
                try await Driver.run("hostile.py", "deep, deleted", container.remote)
                try await a.sync()
                let trash = try await frugal(container, ["trash", "list", a.point])
                #expect(trash.contains("hostile-4999"))
                let json = try await frugal(container, ["trash", "list", "--json", a.point])
                let objects = try #require(JSONSerialization.jsonObject(with: Data(json.utf8)) as? [[String: Any]])
                #expect(objects.count >= 5001)
                #expect(
                    !FileManager.default.fileExists(
                        atPath: a.path("hostile-0000-".padding(toLength: 255, withPad: "n", startingAt: 0))))
                try expectFrugalDaemon(of: a)
            }
        }

        /// What no command and no daemon may take: 400 MiB.
        private static let memoryLimit = 400

        /// Runs a command that must end in time, without taking much memory itself.
        @discardableResult private func frugal(
            _ container: MountedContainer, _ arguments: [String]
        ) async throws -> String {
            // A few seconds on an idle machine.
            try await Command.check(
                [Requirement.python, Driver.path("footprint.py"), "60", "\(Self.memoryLimit)", container.binary]
                    + arguments, limit: .seconds(90), environment: container.environment)
        }

        private func expectFrugalDaemon(of device: Device) throws {
            let daemon = try #require(Leftovers.daemons(mentioning: device.state).first)
            let status = try String(contentsOfFile: "/proc/\(daemon)/status", encoding: .utf8)
            let peak = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
            #expect(try #require(Int(peak.filter(\.isNumber))) < Self.memoryLimit << 10, "\(peak)")
        }

        @Test(.needsDirectory, arguments: ["fragmented", "fragmented beyond its size"])
        func `a list of more than a million chunks costs nothing until its bytes are read`(how: String) async throws {
            try await MountedContainer.with { container in
                let a = container.a
                try await a.write("kept", byteCount: 10)
                try await a.sync()
                try await Driver.run("hostile.py", how, container.remote)
                try await a.sync()
                let path = a.path("hostile-fragmented")
                for arguments in [
                    ["status", path], ["versions", path], ["evict", path], ["query", "TRUEPREDICATE", a.point],
                    ["why", path],
                ] {
                    try await frugal(container, arguments)
                }
                if how != "fragmented" {
                    // Its size says that the list is too long, before it is unpacked.
                    let read = try await Command.run(["head", "-c", "1", path], limit: .seconds(30))
                    #expect(read.errors.contains("Input/output error"), "\(read)")
                }
                try expectFrugalDaemon(of: a)
                try await a.unmount()
                try await a.mount()
                #expect(FileManager.default.fileExists(atPath: path))
            }
        }

        @Test(.needsDirectory) func `garbage is collected beside several lists of more than a million chunks`()
            async throws
        {
            try await MountedContainer.with { container in
                let a = container.a
                try await a.write("kept", byteCount: 10)
                try await a.sync()
                try await Driver.run("hostile.py", "many fragmented", container.remote)
                try await a.sync()
                let report = try await frugal(container, ["container", "gc", "--dry-run", a.point])
                #expect(report.hasPrefix("would be condemned: 0 objects, 0 B\n"), "\(report)")
                try expectFrugalDaemon(of: a)
            }
        }

        @Test func `a commit of a newer format is reported in the status, and local work continues`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                try await a.write("f", byteCount: 100)
                try await a.sync()
                let next = container.directory + "/next"
                let number = try await Command.check([
                    Requirement.python, "-c",
                    """
                    import gzip, json, os, sys
                    log = sys.argv[1] + "/log"
                    last = sorted(os.listdir(log))[-1]
                    commit = json.loads(gzip.decompress(open(f"{log}/{last}", "rb").read()))
                    commit["format"], commit["sequence"] = 99, int(last) + 1
                    with open(sys.argv[2], "wb") as file:
                        file.write(gzip.compress(json.dumps(commit).encode()))
                    print(f"{int(last) + 1:020}")
                    """, try await container.objects(), next,
                ])
                try await container.put(next, as: "log/" + number.trimmingCharacters(in: .newlines))
                try await eventually("the status says what is wrong") {
                    try await container.statusOfAll().contains("99")
                }
                #expect(try await a.sha256("f").isEmpty == false)
                try await a.write("local", byteCount: 10)
            }
        }
    }
}
