import Foundation
import S3Server
import Testing

extension RealMount {
    /// Somebody else answers in the name of the server, as in a network that requires a login.
    @Suite("Strangers", .enabled(if: S3Server.isAvailable, "there is no S3 server: \(S3Server.unavailable ?? "")"))
    struct Strangers {
        /// The kinds of `portal.py`.
        @Test(arguments: ["page", "empty", "slow-down"])
        func `nothing follows from the answers of a stranger, and sync resumes by itself`(kind: String) async throws {
            let server = try await S3Server.shared
            let options = "network_timeout=2s"
            try await MountedContainer.with(
                server, devices: ["A", "B"], options: options, isDisconnectable: true
            ) { container in
                let (a, b) = (container.a, container.b)
                let away = try await a.placeholder("away", byteCount: 50_000)
                try await a.sync()
                try await b.sync()
                try await container.uplink?.connectToPortal(kind)
                for device in [a, b] {
                    try await Command.script(
                        #"cd "$1"; mkdir "$2"; echo text > "$2/small"; head -c 300000 /dev/urandom > "$2/large""#,
                        device.point, device.name)
                }
                // Longer than a few attempts of each device.
                let end = ContinuousClock.now + .seconds(12)
                while ContinuousClock.now < end {
                    for device in [a, b] {
                        #expect(try await device.attribute("isUploaded", of: "\(device.name)/small") == "0")
                    }
                    try await Task.sleep(for: .seconds(1))
                }
                let answer = try await a.call("read", "away", "0", "10")
                #expect(["EHOSTUNREACH", "ETIMEDOUT", "EAGAIN"].contains(answer), "\(answer)")
                let waited = try await Command.run(
                    [container.binary, "sync", a.point, "--wait"], limit: .seconds(60),
                    environment: container.environment)
                #expect([69, 75].contains(waited.status), "\(waited.status) \(waited.output + waited.errors)")

                container.uplink?.cut()
                try await container.reconnect()
                for device in [a, b] {
                    try await eventually(within: .seconds(60), "\(device.name) is uploaded") {
                        try await device.attribute("isUploaded", of: "\(device.name)/large") == "1"
                    }
                }
                for _ in 1...2 { for device in [a, b] { try await device.sync() } }
                #expect(try listing(a.point) == ["A", "B", "away"])
                #expect(try listing(b.point) == ["A", "B", "away"])
                // What `sync --wait` has reported can be read at once.
                #expect(try await a.sha256("B/large") == b.sha256("B/large"))
                #expect(try await b.sha256("A/large") == a.sha256("A/large"))
                #expect(try await a.sha256("away") == away)
                for device in [a, b] { try await device.check() }
            }
        }
    }
}
