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
            }
        }
    }
}
