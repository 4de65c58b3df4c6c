import Foundation
import Model
import Testing

extension RealMount {
    @Suite("Faults") struct Faults {
        @Test(arguments: ["damaged", "shortened", "missing"])
        func `a bad pack fails the files in it and nothing else`(how: String) async throws {
            try await MountedContainer.with(options: "network_timeout=2s") { container in
                let a = container.a
                _ = try await a.placeholder("bad", byteCount: 50_000)
                let good = try await a.placeholder("good", byteCount: 50_000)
                let spoil = [
                    "damaged": #"printf XXXXXXXX | dd of="$1" bs=1 seek=20000 conv=notrunc status=none"#,
                    "shortened": #"truncate -s 20000 "$1""#, "missing": #"rm "$1""#,
                ]
                let pack = try await Command.script(#"ls -tr "$1"/packs/* | head -n 1"#, container.remote)
                    .trimmingCharacters(in: .newlines)
                try await Command.script(try #require(spoil[how]), pack)
                // What is not there at all may still come.
                let answer = how == "missing" ? "EAGAIN" : "EIO"
                #expect(try await a.call("read", "bad", "19000", "5000") == answer)
                #expect(try await a.sha256("good") == good)
                #expect(try await a.call("stat", "bad") == "OK 50000")
                #expect(try await a.downloadingStatus("bad") == .notDownloaded)
                #expect(
                    try await a.call("getxattr", "bad", "user.dewpoint.downloadingError").hasPrefix(
                        "OK NSCocoaErrorDomain "))
                if how != "damaged" {
                    // What is there in the right length is not read by a check.
                    let check = try await Command.run(
                        [container.binary, "check", a.point], environment: container.environment)
                    #expect(check.status == 65)
                    #expect(check.output.contains("bad") && !check.output.contains("good"), "\(check.output)")
                }
                try await a.write("new", byteCount: 1000)
                try await a.sync()
            }
        }

        @Test func `with the container gone local work goes on and the rest fails in the stated time`() async throws {
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

                // An empty directory in its place is no empty container.
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

        @Test(.needsRoot) func `a full disk refuses what does not fit and loses nothing`() async throws {
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

        @Test(arguments: [
            "leads out", "is a path", "is absolute", "is empty", "is the parent", "is the directory itself",
            "has a NUL",
            "is too long", "cycle", "parent that is a file", "parent that is missing", "itself as parent",
            "negative size", "sizes that do not add up", "negative chunk", "negative offset", "huge hole", "no kind",
            "root",
        ])
        func `a record that no honest device writes harms nothing`(how: String) async throws {
            try await MountedContainer.with { container in
                let a = container.a
                try await a.write("folder/kept", byteCount: 5000)
                try await a.sync()
                let hash = try await a.sha256("folder/kept")
                try await Driver.run("hostile.py", how, container.remote)
                // It is seen at once; nothing says when it has been refused.
                try await Task.sleep(for: .milliseconds(300))
                #expect(try await a.sha256("folder/kept") == hash)
                // Files come and go while find looks.
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
                // Looking at everything must end.
                try await Command.script(#"cd "$1"; find . -exec stat {} + > /dev/null"#, a.point, limit: .seconds(10))
            }
        }

        @Test func `a commit of a newer format is refused with a sentence`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                try await a.write("f", byteCount: 100)
                try await a.sync()
                try await Command.check([
                    Requirement.python, "-c",
                    """
                    import gzip, json, os, sys
                    log = sys.argv[1] + "/log"
                    last = sorted(os.listdir(log))[-1]
                    commit = json.loads(gzip.decompress(open(f"{log}/{last}", "rb").read()))
                    commit["format"], commit["sequence"] = 99, int(last) + 1
                    with open(log + "/../next", "wb") as file:
                        file.write(gzip.compress(json.dumps(commit).encode()))
                    os.rename(log + "/../next", f"{log}/{int(last) + 1:020}")
                    """, container.remote,
                ])
                try await eventually(within: .seconds(20), "the status says what is wrong") {
                    try await container.statusOfAll().contains("99")
                }
                #expect(try await a.sha256("f").isEmpty == false)
                try await a.write("local", byteCount: 10)
            }
        }
    }
}
