import Foundation
import Model
import Testing

extension RealMount {
    /// Commands for those who operate a mount.
    @Suite("Operating") struct Operating {
        private func run(_ container: MountedContainer, _ arguments: String...) async throws -> (Int32, String) {
            let result = try await Command.run([container.binary] + arguments, environment: container.environment)
            return (result.status, result.output + result.errors)
        }

        @Test func `the link is set, shown in the status, and cleared at run time`() async throws {
            try await MountedContainer.with(options: "network_timeout=2s,link_up=100000") { container in
                let a = container.a
                let hash = try await a.placeholder("f", byteCount: 2_000_000)
                let lasting = "100000 KiB/s up (from the mount's options)\n"
                #expect(try await container.dewpoint(["link", "show", a.point]) == lasting)
                #expect(
                    try await container.dewpoint(["link", "set", a.point, "--profile", "lte"])
                        == "LTE: delay 115 ms, 6104 KiB/s down, 1221 KiB/s up\n")
                #expect(try await container.statusText().contains("LTE: delay 115 ms"))
                #expect(try await container.statusOfAll().contains(#""profile" : "LTE""#))

                // A megabyte per second: the file takes about two.
                try await container.dewpoint(["link", "set", a.point, "--down", "1024"])
                var start = ContinuousClock.now
                #expect(try await a.sha256("f") == hash)
                #expect(ContinuousClock.now - start > .seconds(1.5))

                try await a.evict("f")
                try await container.dewpoint(["link", "set", a.point, "--loss", "100"])
                #expect(["EHOSTUNREACH", "ETIMEDOUT"].contains(try await a.call("read", "f", "0", "10")))
                #expect(try await container.dewpoint(["link", "clear", a.point]) == lasting)
                start = .now
                #expect(try await a.sha256("f") == hash)
                #expect(ContinuousClock.now - start < .seconds(20))

                #expect(try await run(container, "link", "set", a.point).0 == 64)
                #expect(try await run(container, "link", "set", a.point, "--profile", "5G").1.contains("Wi-Fi"))
                #expect(try await run(container, "link", "set", a.point, "--loss", "101").0 == 64)
                #expect(try await run(container, "link", "show", "/").0 == 66)
            }
        }

        @Test func `the level of the log is shown and changed at run time`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                #expect(try await container.dewpoint(["log-level", a.point]) == "info\n")
                #expect(try await container.dewpoint(["log-level", a.point, "7"]) == "debug\n")
                #expect(try await container.dewpoint(["log-level", a.point, "--json"]).contains(#""level" : "debug""#))
                _ = try await a.placeholder("f", byteCount: 1000)
                #expect(try await container.dewpoint(["log-level", a.point, "error"]) == "error\n")
                let (status, said) = try await run(container, "log-level", a.point, "loud")
                #expect(status == 64 && said.contains("0 to 7"))
                // Of one word, what is no path is a level.
                for word in ["8", "debgu"] {
                    let (status, said) = try await run(container, "log-level", word)
                    #expect(status == 64 && said.contains("0 to 7") && said.contains("not \(word)"), "\(said)")
                }
            }
        }

        @Test func `an archive for developers has neither names nor keys, unless names are wanted`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                try await a.write("Zebra folder/Quagga.odt", byteCount: 1000)
                try await a.sync()
                try await Command.script(
                    #"echo "2026-01-01T00:00:00+0000 warning sync: failed to upload Zebra folder/Quagga.odt secret=planted-key" >> "$1""#,
                    a.state + "/daemon.log")
                for names in [[], ["--names"]] {
                    let archive = container.directory + "/d\(names.count).tar.gz"
                    try await container.dewpoint(["diagnose", a.point, "--output", archive] + names)
                    let folder = container.directory + "/unpacked\(names.count)"
                    try await Command.script(
                        #"mkdir "$2"; tar -C "$2" -xzf "$1"; test "$(stat -c %a "$1")" = 600"#, archive, folder)
                    let all = try await Command.script(#"cd "$1"; grep -r '' ."#, folder)
                    for file in [
                        "README.txt", "version.txt", "system.txt", "system-state.txt", "options.txt", "status.json",
                        "locks.json", "metrics.txt", "check.txt", "log.txt",
                    ] { #expect(all.contains("/\(file):"), "\(file)") }
                    #expect(all.contains("dewpoint_items 2"))
                    #expect(all.contains("check.txt:no problems"))
                    #expect(all.contains("failed to upload"))
                    #expect(!all.contains("planted-key"))
                    for name in ["Zebra", "Quagga", a.point, MountedContainer.identifier] {
                        #expect(all.contains(name) != names.isEmpty, "\(name)")
                    }
                }
                let (status, said) = try await run(
                    container, "diagnose", a.point, "--output", container.directory + "/d0.tar.gz")
                #expect(status == 73 && said.contains("exists already"))
            }
        }

        @Test func `a reset sets the state aside, and the next mount builds a new one`() async throws {
            try await MountedContainer.with(devices: [], isDisconnectable: true) { container in
                let point = container.directory + "/point"
                try await Command.check(["mkdir", point])
                try await container.dewpoint(["mount", container.url, point])
                try await Command.script(#"echo one > "$1/one""#, point)
                try await container.dewpoint(["sync", "--wait", point])
                #expect(try await run(container, "reset", point).0 == 75)
                try await container.dewpoint(["pause", point])
                try await Command.script(#"echo two > "$1/two""#, point)
                try await container.dewpoint(["unmount", point])

                let (status, said) = try await run(container, "reset", point)
                #expect(status == 75 && said.contains("1 change is not uploaded"), "\(said)")
                let printed = try await container.dewpoint(["reset", point, "--discard-changes"])
                let states = container.directory + "/state-home/dewpoint"
                let names = try listing(states)
                #expect(names.count == 1 && names[0].hasPrefix(MountedContainer.identifier + ".backup-"))
                #expect(printed.contains(names[0]))
                #expect(
                    try await Command.check(["cat", "\(states)/\(names[0])/files/two"]) == "two\n")
                let again = try await run(container, "reset", point)
                #expect(again.0 == 66, "\(again)")

                try await container.dewpoint(["mount", container.url, point])
                #expect(try listing(point) == ["one"])
                #expect(try await Command.check(["cat", point + "/one"]) == "one\n")
                #expect(try listing(states).contains(MountedContainer.identifier))
                try await container.dewpoint(["check", point])
                try await container.dewpoint(["unmount", point])
            }
        }
    }
}
