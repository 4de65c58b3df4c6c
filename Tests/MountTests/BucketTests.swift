import Foundation
import Model
import S3Server
import Testing

extension RealMount {
    /// Containers in a bucket of a real server.
    @Suite("Buckets", .enabled(if: S3Server.isAvailable, "there is no S3 server: \(S3Server.unavailable ?? "")"))
    struct Buckets {
        @Test func `what one device writes into a bucket another reads`() async throws {
            try await MountedContainer.with(try await S3Server.shared, devices: ["A", "B"]) { container in
                let (a, b) = (container.a, container.b)
                // Longer than a pack, and several small ones.
                try await a.write("long", byteCount: 20_000_000)
                for number in 1...5 { try await a.write("small/\(number)", byteCount: 1000 * number) }
                try await a.sync()
                let hashes = try await ["long", "small/1", "small/5"].asyncMap { try await a.sha256($0) }
                try await b.sync()
                try await eventually(within: .seconds(30), "the other device has the names") {
                    FileManager.default.fileExists(atPath: b.path("small/5"))
                }
                #expect(try await b.downloadingStatus("long") == .notDownloaded)
                #expect(try await ["long", "small/1", "small/5"].asyncMap { try await b.sha256($0) } == hashes)
                try await a.evict("long")
                #expect(try await a.sha256("long") == hashes[0])
                for device in [a, b] { try await device.check() }
            }
        }

        @Test func `secrets are neither in the command line nor in the log, and the place is remembered`() async throws
        {
            let server = try await S3Server.shared
            try await MountedContainer.with(server, options: "log_level=trace") { container in
                let a = container.a
                try await a.write("file", byteCount: 1000)
                try await a.sync()
                let daemons = Leftovers.daemons(mentioning: a.state)
                let line = try #require(FileManager.default.contents(atPath: "/proc/\(daemons[0])/cmdline"))
                #expect(!String(decoding: line, as: UTF8.self).contains("testsecret"))
                try await a.unmount()
                let found = try await Command.run(["grep", "-r", "-l", "testsecret", a.state])
                #expect(found.status == 1, "\(found.output)")

                // Keys come from the environment each time; where the service answers does not.
                var other = container
                other.variables["AWS_ENDPOINT_URL"] = nil
                other.variables["AWS_REGION"] = nil
                try await other.a.mount()
                #expect(try await other.a.sha256("file").count == 64)
                try await other.a.unmount()
                try await other.dewpoint(["check", "--state", a.state])
                try await a.mount()
            }
        }

        @Test func `a file is read from a bucket that comes back`() async throws {
            let server = try await S3Server.start(store: "bluestore")
            try await server.control("bucket", S3Server.bucket)
            try await MountedContainer.with(server) { container in
                let a = container.a
                let hash = try await a.placeholder("file", byteCount: 5_000_000)
                try await server.control("kill")
                async let read = a.sha256("file")
                try await Task.sleep(for: .seconds(2))
                try await server.control("restart")
                #expect(try await read == hash)
                // What was written meanwhile gets there.
                try await server.control("kill", "rgw")
                try await a.write("late", byteCount: 1000)
                try await server.control("restart")
                try await a.sync()
                try await a.check()
            }
            try await server.stop()
        }
    }
}

extension Sequence {
    /// One after the other.
    fileprivate func asyncMap<Value>(_ transform: (Element) async throws -> Value) async throws -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await transform(element)) }
        return values
    }
}
