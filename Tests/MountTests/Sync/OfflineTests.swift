import Foundation
import Model
import Testing

extension RealMount {
    @Suite("Offline") struct Offline {
        private func run(_ container: MountedContainer, _ arguments: String...) async throws -> (Int32, String) {
            let result = try await Command.run([container.binary] + arguments, environment: container.environment)
            return (result.status, result.output + result.errors)
        }

        @Test func `a known container mounts without its store; offline changes are uploaded in order`() async throws {
            // Long enough to be distinguished from the delays of a busy machine.
            let options = "network_timeout=8s"
            try await MountedContainer.with(devices: ["A", "B"], options: options, isDisconnectable: true) {
                container in
                let (a, b) = (container.a, container.b)
                let hash = try await a.placeholder("away", byteCount: 50_000)
                _ = try await a.placeholder("away too", byteCount: 50_000)
                try await a.write("folder/here", byteCount: 50_000)
                try await a.sync()
                try await b.sync()
                try await a.unmount()
                try await container.disconnect()
                try await a.mount(options: options)

                var start = ContinuousClock.now
                #expect(try listing(a.point) == ["away", "away too", "folder"])
                try await Command.script(#"ls -lR "$1" > /dev/null; cat "$1/folder/here" > /dev/null"#, a.point)
                #expect(ContinuousClock.now - start < .seconds(7))
                try await Command.script(
                    #"cd "$1"; for n in 1 2 3 4 5; do echo $n > "new $n"; done; mv folder moved; echo more >> moved/here; rm away\ too"#,
                    a.point)
                start = .now
                #expect(try await a.call("read", "away", "0", "10") == "EHOSTUNREACH")
                #expect(ContinuousClock.now - start < .seconds(16))
                start = .now
                #expect(try await a.call("read", "away", "0", "10") == "EHOSTUNREACH")
                #expect(ContinuousClock.now - start < .seconds(7))
                #expect(try await a.attribute("downloadingError", of: "away").hasPrefix("NSCocoaErrorDomain 4355 "))
                #expect(try await a.attribute("isUploaded", of: "new 1") == "0")
                #expect(try await run(container, "sync", a.point, "--wait").0 == 69)

                try await container.reconnect()
                start = .now
                try await eventually("the changes arrive") {
                    try listing(b.point) == ["away", "moved"] + (1...5).map { "new \($0)" }
                }
                // At most five seconds, plus a margin for a busy machine.
                #expect(ContinuousClock.now - start < .seconds(20))
                let order = try await Command.check([
                    Requirement.python, "-c",
                    """
                    import gzip, json, os, sys
                    log = sys.argv[1] + "/log"
                    for name in sorted(os.listdir(log)):
                        for record in json.loads(gzip.decompress(open(f"{log}/{name}", "rb").read()))["records"]:
                            if record["name"].startswith("new "): print(record["name"])
                    """, try await container.objects(),
                ])
                #expect(order == (1...5).map { "new \($0)\n" }.joined())
                #expect(try await a.sha256("away") == hash)
                #expect(try await a.sha256("moved/here") == b.sha256("moved/here"))
                try await a.check()
            }
        }

        @Test func `the first mount fails without the store, and the error names the store`() async throws {
            try await MountedContainer.with(devices: [], isDisconnectable: true) { container in
                try await container.disconnect()
                let point = container.directory + "/point"
                try await Command.check(["mkdir", point])
                let (status, said) = try await run(
                    container, "mount", container.url, point, "--state", container.directory + "/state")
                // A disconnected directory holds no container; a disconnected server does not answer.
                #expect(status == (container.bucketURL == nil ? 66 : 69) && said.contains(container.url), "\(said)")
                try await container.reconnect()
                // Without --state, the state directory of a known container is found again.
                #expect(try await run(container, "mount", container.url, point).0 == 0)
                #expect(try await run(container, "unmount", point).0 == 0)
                try await container.disconnect()
                #expect(try await run(container, "mount", container.url, point).0 == 0)
                try await container.reconnect()
            }
        }

        @Test(.needsDirectory)
        func `an emptied store stops sync until its objects are back, and no object is written to it`() async throws {
            try await MountedContainer.with(options: "network_timeout=2s") { container in
                let a = container.a
                try await a.write("f", byteCount: 1000)
                try await a.sync()
                try await a.unmount()
                try await Command.script(#"mkdir "$1-kept"; mv "$1"/* "$1-kept""#, container.remote)
                try await a.mount(options: "network_timeout=2s")
                try await a.write("g", byteCount: 1000)
                // An empty directory may also be the mountpoint of a disk that is not mounted.
                let (status, said) = try await run(container, "sync", a.point, "--wait")
                #expect(status == 69 && said.contains("missing or empty"), "\(said)")
                #expect(try await container.statusOfAll().contains("missing or empty"))
                #expect(try listing(container.remote) == [".tmp"])
                #expect(try listing(a.point) == ["f", "g"])
                try await Command.script(#"mv "$1-kept"/* "$1""#, container.remote)
                try await eventually("it goes on by itself") {
                    try await a.attribute("isUploaded", of: "g") == "1"
                }
                try await a.check()
            }
        }

        @Test(.needsDirectory) func `another container in the store's place stops sync`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                try await a.write("f", byteCount: 1000)
                try await a.sync()
                try await a.unmount()
                try await Command.check(["mv", container.remote, container.remote + "-kept"])
                try await container.dewpoint(["container", "create", container.url, "--id", "iCloud.org.other"])
                try await a.mount()
                let (status, said) = try await run(container, "sync", a.point, "--wait")
                #expect(status == 1 && said.contains("iCloud.org.other"), "\(said)")
                #expect(try listing(a.point) == ["f"])
                #expect(!FileManager.default.fileExists(atPath: container.remote + "/log"))
                try await Command.script(#"rm -r "$1"; mv "$1-kept" "$1""#, container.remote)
                try await a.sync()
                try await a.check()
            }
        }

        @Test func `mounting fails if the index is missing but the backing directory is not`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                try await a.write("f", byteCount: 1000)
                try await a.sync()
                try await a.unmount()
                try await Command.check(["mv", a.state + "/index.sqlite", a.state + "/kept"])
                let (status, said) = try await run(container, "mount", container.url, a.point, "--state", a.state)
                #expect(status == 1 && said.contains("index.sqlite is missing"), "\(said)")
                try await Command.check(["mv", a.state + "/kept", a.state + "/index.sqlite"])
                try await a.mount()
                #expect(try listing(a.point) == ["f"])
                try await a.check()
            }
        }

        @Test func `sync can be paused and resumed for an item and for the whole container`() async throws {
            try await MountedContainer.with(devices: ["A", "B"]) { container in
                let (a, b) = (container.a, container.b)
                try await a.write("f", byteCount: 10)
                try await a.sync()
                try await a.set("syncPaused", "1", on: "f")
                try await Command.script(#"echo changed > "$1/f"; echo > "$1/g""#, a.point)
                let (status, said) = try await run(container, "sync", a.point, "--wait")
                #expect(status == 75 && said.contains("paused"), "\(said)")
                try await eventually("the rest arrives") { try listing(b.point) == ["f", "g"] }
                #expect(try await Command.check(["stat", "-c", "%s", b.path("f")]) == "10\n")
                try await container.dewpoint(["resume", a.path("f")])
                try await container.dewpoint(["pause", a.point])
                #expect(try await run(container, "sync", a.point, "--wait").0 == 75)
                #expect(try await container.statusOfAll().contains("\"isPaused\" : true"))
                #expect(try await a.attribute("syncPaused", of: "g") == "1")
                try await container.dewpoint(["resume", a.point])
                try await a.sync()
                try await b.sync()
                #expect(try await a.sha256("f") == b.sha256("f"))
                #expect(try await a.call("setxattr", "f", "user.dewpoint.syncPaused", "maybe") == "EINVAL")
            }
        }

        @Test func `an item excluded from sync is removed from other devices and stays on this one`() async throws {
            try await MountedContainer.with(devices: ["A", "B"]) { container in
                let (a, b) = (container.a, container.b)
                try await a.write("folder/f", byteCount: 5000)
                let hash = try await a.sha256("folder/f")
                try await a.sync()
                try await b.sync()
                // The bytes are downloaded before the item is excluded.
                try await b.set("isExcludedFromSync", "1", on: "folder")
                try await b.sync()
                try await a.sync()
                #expect(try listing(a.point).isEmpty)
                #expect(try await b.sha256("folder/f") == hash)
                #expect(try await b.attribute("isUbiquitousItem", of: "folder/f") == "0")
                try await b.set("isExcludedFromSync", "0", on: "folder")
                try await b.sync()
                try await a.sync()
                #expect(try await a.sha256("folder/f") == hash)
                try await a.check()
                try await b.check()
            }
        }

        @Test(arguments: [false, true])
        func `a mass deletion is held until it is confirmed or discarded`(discarding: Bool) async throws {
            try await MountedContainer.with(devices: ["A", "B"]) { container in
                let (a, b) = (container.a, container.b)
                let count = 1100
                try await Command.script(
                    #"mkdir "$1/d"; cd "$1/d"; for n in $(seq "$2"); do echo "$n" > "$n"; done"#, a.point, "\(count)")
                try await a.sync()
                try await b.sync()
                try await Command.check(["rm", "-r", a.path("d")])
                let (status, said) = try await run(container, "sync", a.point, "--wait")
                #expect(status == 75 && said.contains("dewpoint confirm \(a.point)"), "\(said)")
                try await Command.script(#"echo > "$1/after""#, a.point)
                try await eventually("everything else goes on") {
                    try listing(b.point) == ["after", "d"]
                }
                #expect(try listing(b.path("d")).count == count)
                try await container.dewpoint(["confirm"] + (discarding ? ["--discard"] : []) + [a.point])
                try await a.sync()
                try await b.sync()
                let expected = discarding ? ["after", "d"] : ["after"]
                #expect(try listing(a.point) == expected && listing(b.point) == expected)
                if discarding {
                    #expect(try listing(a.path("d")).count == count)
                    #expect(try await Command.check(["cat", a.path("d/77")]) == "77\n")
                }
                #expect(try await run(container, "confirm", a.point).0 == 64)
                try await a.check()
                try await b.check()
            }
        }
    }
}
