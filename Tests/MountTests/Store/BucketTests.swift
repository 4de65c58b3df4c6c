import Foundation
import Model
import S3Server
import Testing

extension RealMount {
    /// Containers in a bucket of a real server.
    @Suite("Buckets", .enabled(if: S3Server.isAvailable, "there is no S3 server: \(S3Server.unavailable ?? "")"))
    struct Buckets {
        @Test func `a device reads what another device wrote to the bucket`() async throws {
            try await MountedContainer.with(try await S3Server.shared, devices: ["A", "B"]) { container in
                let (a, b) = (container.a, container.b)
                // A file larger than a pack, and several small ones.
                try await a.write("long", byteCount: 20_000_000)
                for number in 1...5 { try await a.write("small/\(number)", byteCount: 1000 * number) }
                try await a.sync()
                let hashes = try await ["long", "small/1", "small/5"].asyncMap { try await a.sha256($0) }
                try await b.sync()
                try await eventually("the other device has the names") {
                    FileManager.default.fileExists(atPath: b.path("small/5"))
                }
                #expect(try await b.downloadingStatus("long") == .notDownloaded)
                #expect(try await ["long", "small/1", "small/5"].asyncMap { try await b.sha256($0) } == hashes)
                try await a.evict("long")
                #expect(try await a.sha256("long") == hashes[0])
                for device in [a, b] { try await device.check() }
            }
        }

        @Test func `secrets are in neither command line nor state; endpoint and region are remembered`() async throws {
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

                // The keys come from the environment each time; endpoint and region are remembered.
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

        @Test func `a file that is not local is shared by a link that anyone can open`() async throws {
            try await MountedContainer.with(try await S3Server.shared, devices: ["A", "B"]) { container in
                let (a, b) = (container.a, container.b)
                // Of two packs, and one that is sent in one request.
                try await a.write("ü long.bin", byteCount: 20_000_000)
                try await a.write("short.txt", byteCount: 1000)
                let sums = try await [a.sha256("ü long.bin"), a.sha256("short.txt")]
                try await a.sync()
                try await b.sync()
                let saved = container.directory + "/saved"
                for (name, sum) in zip(["ü long.bin", "short.txt"], sums) {
                    let link = try await container.dewpoint(["share", b.path(name), "--for", "1h"])
                        .split(separator: "\n").map(String.init)[0]
                    try await Command.check(["curl", "-sSf", "-o", saved, link])
                    let found = try await Command.check(["sha256sum", saved])
                    #expect(found.hasPrefix(sum))
                    #expect(try await b.downloadingStatus(name) == .notDownloaded)
                }
                let tooLong = try await Command.run([container.binary, "share", b.path("short.txt"), "--for", "8d"])
                #expect(tooLong.status == 64)
                #expect(
                    tooLong.errors == "dewpoint: --for takes 1s to 7d: a number with s, m, h or d, as in --for 12h; "
                        + "see: dewpoint help share\n")
                // A file that is still to be uploaded is uploaded first.
                try Data("new".utf8).write(to: URL(filePath: a.path("new.txt")))
                let fresh = try await container.dewpoint(["share", a.path("new.txt"), "--json"])
                let file = try JSONDecoder().decode(SharedFile.self, from: Data(fresh.utf8))
                #expect(try await Command.check(["curl", "-sSf", file.link ?? ""]) == "new")
                let listing = try await container.dewpoint(["share", "--list", b.point])
                #expect(listing.contains("ü long.bin") && listing.contains("short.txt") && listing.contains(file.id))
                try await container.dewpoint(["share", "--revoke", file.id, b.point])
                let status = ["-o", "/dev/null", "-w", "%{http_code}"]
                let gone = try await Command.run(["curl", "-s"] + status + [file.link ?? ""])
                #expect(gone.output == "404")
                let again = try await Command.run(
                    [container.binary, "share", "--revoke", file.id, b.point], environment: container.environment)
                #expect(again.status == 66)
                #expect(again.errors.contains("there is no share \(file.id); see: dewpoint share --list"))
            }
        }

        /// Every commit of every device competes for the next number of the log.
        @Test func `no commit of fifty racing devices is lost or doubled while the server is killed`() async throws {
            let server = try await S3Server.start(store: "bluestore")
            try await server.control("bucket", S3Server.bucket)
            try await MountedContainer.with(server, devices: []) { container in
                let source = container.directory + "/source"
                try await Command.script(
                    #"for n in {1..50}; do for r in 1 2; do mkdir -p "$1/$n/$r"; echo "$n $r" > "$1/$n/$r/file"; done; done"#,
                    source)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for device in 1...50 {
                        group.addTask {
                            for round in 1...2 {
                                try await Self.importUntilDone(container, "\(device)/\(round)", from: source)
                            }
                        }
                    }
                    for _ in 1...2 {
                        try await Task.sleep(for: .seconds(6))
                        try await server.control("kill")
                        try await server.control("restart")
                    }
                    try await group.waitForAll()
                }
                let result = container.directory + "/result"
                try await container.dewpoint(["container", "export", container.url, result], limit: .seconds(120))
                try await Command.check(["diff", "-r", source, result])
                // The items of a doubled commit would exist a second time under other names; those of a lost commit
                // would be missing.
                let numbers = try await container.bucket("list", container.prefix + "/log").split(separator: "\n")
                    .compactMap { Int($0) }
                #expect(numbers.count >= 100 && numbers == Array(1...numbers.count), "\(numbers)")
            }
            try await server.stop()
        }

        private static func importUntilDone(
            _ container: MountedContainer, _ path: String, from source: String
        ) async throws {
            let command = [
                container.binary, "container", "import", "\(source)/\(path)", container.url, "--into", path,
                "--continue",
                "--device-name", path,
            ]
            try await eventually(within: .seconds(400), "\(path) is in the container") {
                let result = try await Command.run(command, limit: .seconds(300), environment: container.environment)
                // 69: the server is down.
                #expect([0, 69, 75].contains(result.status), "\(result.errors)")
                return result.succeeded
            }
        }

        @Test func `a read that began while the server was down completes when the server is back`() async throws {
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
                // Files that are written while the server is down are uploaded when it is back.
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
    /// Transforms one element after the other.
    fileprivate func asyncMap<Value>(_ transform: (Element) async throws -> Value) async throws -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await transform(element)) }
        return values
    }
}
