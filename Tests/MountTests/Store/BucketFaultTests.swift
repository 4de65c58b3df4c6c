import Foundation
import Model
import S3Server
import Testing

extension RealMount {
    /// Faults of a real server while two devices use it.
    @Suite(
        "Bucket faults", .enabled(if: S3Server.isAvailable, "there is no S3 server: \(S3Server.unavailable ?? "")")
    )
    struct BucketFaults {
        /// A server whose data survives a kill; it ends with this process.
        private static let server = Task {
            let server = try await S3Server.start(store: "bluestore")
            try await server.control("bucket", S3Server.bucket)
            return server
        }

        private static let hashes = #"""
            cd "$1"; find . -mindepth 1 -printf '%P %y\n' | LC_ALL=C sort
            find . -type f -print0 | LC_ALL=C sort -z | xargs -0 -r sha256sum
            """#

        /// Syncs both devices and checks that their trees are equal, bytes included.
        private func expectEqual(_ container: MountedContainer) async throws {
            let (a, b) = (container.a, container.b)
            // A server that was stopped needs a moment to restart.
            try await eventually(within: .seconds(90), "the server answers again") {
                try await Command.run(
                    [container.binary, "sync", a.point, "--wait"], limit: .seconds(180),
                    environment: container.environment
                ).succeeded
            }
            for _ in 1...2 { for device in [a, b] { try await device.sync(limit: .seconds(180)) } }
            let ours = try await Command.script(Self.hashes, a.point, limit: .seconds(120))
            #expect(try await Command.script(Self.hashes, b.point, limit: .seconds(120)) == ours)
            for device in [a, b] { try await device.check() }
        }

        /// Writes small and large files into a directory of its own, so that an upload is always in progress.
        private static let load = #"""
            mkdir "$1/$2"; cd "$1/$2"
            for n in $(seq 20); do head -c 1500000 /dev/urandom > "large $n"; echo "$n" > "small $n"; mv "small $n" "moved $n"; done
            """#

        @Test(arguments: ["osd", "rgw"])
        func `a frozen server does not block local work, and placeholder reads time out`(daemon: String) async throws {
            let server = try await Self.server.value
            try await MountedContainer.with(server, devices: ["A", "B"], options: "network_timeout=3s") { container in
                let (a, b) = (container.a, container.b)
                let away = try await a.placeholder("away", byteCount: 3_000_000)
                try await a.write("here", byteCount: 300_000)
                try await a.sync()
                for device in [a, b] { try await Command.script(Self.load, device.point, device.name) }
                try await server.control("freeze", daemon)
                do {
                    // Longer than the timeout of any request.
                    let end = ContinuousClock.now + .seconds(30)
                    var slowest = Duration.zero
                    while ContinuousClock.now < end {
                        let start = ContinuousClock.now
                        for device in [a, b] {
                            try await Command.script(
                                #"""
                                cd "$1"; echo text > new; mv new "$2/new"; mkdir "$2/d"; rmdir "$2/d"; ls -lR > /dev/null
                                cat "$2/moved 7" > /dev/null; echo more >> "$2/moved 7"; sync "$2/moved 7"; rm "$2/new"
                                """#, device.point, device.name, limit: .seconds(20))
                        }
                        slowest = max(slowest, ContinuousClock.now - start)
                        try await Task.sleep(for: .seconds(1))
                    }
                    #expect(slowest < .seconds(5), "\(slowest)")
                    let start = ContinuousClock.now
                    let answer = try await a.call("read", "away", "0", "10")
                    #expect(["EHOSTUNREACH", "ETIMEDOUT"].contains(answer), "\(answer)")
                    #expect(ContinuousClock.now - start < .seconds(10))
                    #expect(try await a.attribute("isUploaded", of: "A/moved 7") == "0")
                    let problem = try await container.statusOfAll()
                    #expect(problem.contains("no answer") || problem.contains("does not answer"), "\(problem)")
                } catch {
                    try await server.control("thaw", daemon)
                    throw error
                }
                try await server.control("thaw", daemon)
                try await expectEqual(container)
                #expect(try await a.sha256("away") == away)
            }
        }

        @Test func `killing all of the server's daemons during uploads loses no data on either device`() async throws {
            let server = try await Self.server.value
            try await MountedContainer.with(server, devices: ["A", "B"], options: "network_timeout=3s") { container in
                let (a, b) = (container.a, container.b)
                for round in 1...3 {
                    for device in [a, b] {
                        try await Command.script(Self.load, device.point, "\(device.name) \(round)")
                    }
                    // At a different point of the uploads in each round.
                    try await Task.sleep(for: .milliseconds(300 * round))
                    try await server.control("kill")
                    for device in [a, b] {
                        try await Command.script(#"echo late > "$1/late $2""#, device.point, "\(device.name) \(round)")
                    }
                    try await server.control("restart")
                    try await expectEqual(container)
                }
                let names = try listing(a.point)
                #expect(names.count == 12)
                // restore.py, which does not use Dewpoint, finds nothing missing either.
                try await Command.check(
                    [
                        Requirement.python, Requirement.sources + "/scripts/restore.py", try await container.objects(),
                        "--verify-only",
                    ], limit: .seconds(120), environment: container.environment)
            }
        }

        @Test func `a full bucket holds uploads back with an error until there is room again`() async throws {
            let server = try await Self.server.value
            try await MountedContainer.with(server, devices: ["A", "B"]) { container in
                let (a, b) = (container.a, container.b)
                try await a.write("before", byteCount: 100_000)
                try await a.sync()
                try await b.sync()
                try await server.control("quota", "1000")
                do {
                    try await a.write("large", byteCount: 5_000_000)
                    try await Command.script(#"echo text > "$1/small"; mkdir "$1/d"; mv "$1/before" "$1/d""#, a.point)
                    try await eventually("the refusal is told") {
                        try await a.call("getxattr", "large", "user.dewpoint.uploadingError").hasPrefix(
                            "OK NSCocoaErrorDomain 4354 ")
                    }
                    let error = try await a.attribute("uploadingError", of: "large")
                    #expect(error.contains("no room"), "\(error)")
                    let sync = try await Command.run(
                        [container.binary, "sync", a.point, "--wait"], environment: container.environment)
                    #expect(sync.status != 0 && sync.errors.contains("no room"), "\(sync.status) \(sync.errors)")
                    #expect(try await container.statusOfAll().contains("no room"))
                    #expect(try await a.attribute("isUploaded", of: "large") == "0")
                    // Local files can be used, and files in the bucket can be read.
                    _ = try await a.sha256("large")
                    try await Command.script(#"echo more >> "$1/small"; rm -r "$1/d"; mkdir "$1/d""#, a.point)
                    #expect(try await a.call("setxattr", "large", "user.dewpoint.evict", "1") == "EBUSY")
                    _ = try await b.sha256("before")
                    #expect(try listing(b.point) == ["before"])
                } catch {
                    try await server.control("quota", "-1")
                    throw error
                }
                try await server.control("quota", "-1")
                // When there is room again, `sync` uploads at once.
                try await expectEqual(container)
                #expect(try listing(b.point) == ["d", "large", "small"])
                #expect(try await a.call("getxattr", "large", "user.dewpoint.uploadingError") == "ENODATA")
            }
        }
    }
}
