import Foundation
import Model
import S3Server
import Testing

extension RealMount {
    /// Moving trees into and out of containers: by `mv` on a mount, and by import, export and adoption.
    @Suite("Moving in and out") struct Moving {
        @Test func `mv out of the mount downloads the files before it deletes them`() async throws {
            try await MountedContainer.with(devices: ["A", "B"]) { container in
                let (a, b) = (container.a, container.b)
                let hash = try await a.placeholder("folder/long", byteCount: 5 << 20 + 3)
                try await a.write("folder/sub/small", byteCount: 100)
                try await a.sync()
                try await a.evict("")
                #expect(try await a.downloadingStatus("folder/long") == .notDownloaded)
                try await Command.check(["mv", a.path("folder"), container.directory + "/out"])
                let printed = try await Command.check(["sha256sum", container.directory + "/out/long"])
                #expect(printed.prefix(64) == hash)
                #expect(
                    try await Command.check(["stat", "-c", "%s", container.directory + "/out/sub/small"]) == "100\n")
                #expect(!FileManager.default.fileExists(atPath: a.path("folder")))
                try await a.sync()
                try await b.sync()
                #expect(!FileManager.default.fileExists(atPath: b.path("folder")))
                for device in [a, b] { try await device.check() }
            }
        }

        @Test
        func `mv out of the mount fails for a file that cannot be downloaded and leaves it in place`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                let hash = try await a.placeholder("f", byteCount: 3 << 20)
                try await a.write("here", byteCount: 1000)
                try await a.sync()
                try await Command.check(["mv", container.remote + "/packs", container.directory + "/packs"])
                let result = try await Command.run(["mv", a.path("f"), a.path("here"), container.directory])
                #expect(!result.succeeded && result.errors.contains("/f"))
                // The local file was moved; the file that could not be downloaded is still in place.
                #expect(!FileManager.default.fileExists(atPath: a.path("here")))
                #expect(try await a.call("stat", "f") == "OK \(3 << 20)")
                #expect(try await a.downloadingStatus("f") == .notDownloaded)
                try await Command.check(["mv", container.directory + "/packs", container.remote + "/packs"])
                #expect(try await a.sha256("f") == hash)
                try await a.sync()
                try await a.check()
            }
        }

        @Test func `mv of a tree into the mount uploads it`() async throws {
            try await MountedContainer.with(devices: ["A", "B"]) { container in
                let (a, b) = (container.a, container.b)
                try await Command.script(
                    #"""
                    mkdir -p "$1/tree/d/e"; cd "$1/tree"; head -c 3000000 /dev/urandom > d/long; echo text > d/e/text
                    ln -s d/e/text link; chmod 640 d/e/text; touch -d '2001-02-03 04:05:06.5' d/e/text
                    """#, container.directory)
                let hash = try await Command.check(["sha256sum", container.directory + "/tree/d/long"]).prefix(64)
                try await Command.check(["mv", container.directory + "/tree", a.path("tree")])
                #expect(!FileManager.default.fileExists(atPath: container.directory + "/tree"))
                try await a.sync()
                try await b.sync()
                #expect(try await b.sha256("tree/d/long") == hash)
                #expect(
                    try await Command.check(["stat", "-c", "%a %.9Y", b.path("tree/d/e/text")])
                        == "640 981173106.500000000\n")
                #expect(try await Command.check(["cat", b.path("tree/link")]) == "text\n")
                for device in [a, b] { try await device.check() }
            }
        }

        @Test func `imported files appear on the mount, and an export contains the same tree`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                let (source, output) = (container.directory + "/source", container.directory + "/output")
                try await Command.script(
                    #"mkdir -p "$1/d"; cd "$1"; head -c 3000000 /dev/urandom > d/long; echo x > d/x; touch .DS_Store"#,
                    source)
                let printed = try await container.dewpoint(["container", "import", source, container.url])
                #expect(printed == "imported: 2 files with 2.9 MiB, 1 directory, 1 skipped\n")
                try await a.sync()
                try await Command.script(#"diff -r --exclude .DS_Store "$1" "$2""#, source, a.point)
                #expect(
                    try await container.dewpoint(["container", "export", container.url, output])
                        == "exported: 2 files with 2.9 MiB, 1 directory\n")
                try await Command.script(#"diff -r "$1" "$2""#, output, a.point)

                let again = try await Command.run(
                    [container.binary, "container", "import", source, container.url], environment: container.environment
                )
                #expect(
                    again.status == 73 && again.errors.contains("the container has these already: d; nothing was sent"))
                let full = try await Command.run(
                    [container.binary, "container", "export", container.url, output],
                    environment: container.environment)
                #expect(full.status == 73 && full.errors.contains("\(output) is not empty"))
                let continued = try await container.dewpoint([
                    "container", "import", source, container.url, "--continue", "--json",
                ])
                #expect(continued.contains("\"presentCount\" : 2"))
                let foreign = try await Command.run(
                    [container.binary, "container", "adopt", container.url, "s3://bucket/prefix"],
                    environment: container.environment)
                #expect(
                    foreign.status == 64 && foreign.errors.contains("only a container in a bucket can adopt objects"))
                let missing = try await Command.run(
                    [container.binary, "container", "import", source + "x", container.url],
                    environment: container.environment)
                #expect(missing.status == 66)
                try await a.check()
            }
        }

        @Test(
            .enabled(if: S3Server.isAvailable, "there is no S3 server: \(S3Server.unavailable ?? "")"),
            .enabled("python3 has no boto3") { try await Command.run(["python3", "-c", "import boto3"]).succeeded })
        func `objects of a real bucket are adopted without a copy`() async throws {
            let server = try await S3Server.shared
            try await MountedContainer.with(server) { container in
                let a = container.a
                let prefix = "beside/\(UUID().uuidString)"
                let source = "s3://\(S3Server.bucket)/\(prefix)"
                try await put(container, prefix, ["a b+ü%.txt": 5, "d/long": 3_000_001, "d/empty": 0])
                let printed = try await container.dewpoint([
                    "container", "adopt", container.url, source, "--into", "photos",
                ])
                #expect(printed == "adopted: 3 files with 2.9 MiB, 2 directories\n")
                try await a.sync()
                let hashes = try await list(container, prefix)
                #expect(hashes.count == 3)
                for (name, hash) in hashes {
                    #expect(try await a.sha256("photos/\(name)") == hash, "\(name)")
                    try await a.evict("photos/\(name)")
                }
                #expect(try await keys(container, "packs/") == [])
                try await a.check()
                let output = container.directory + "/output"
                try await container.dewpoint(["container", "export", container.url, output])
                try await Command.script(#"diff -r "$1" "$2""#, output, a.point)
                try await Command.check(
                    [
                        "python3", Requirement.sources + "/scripts/restore.py", container.url,
                        container.directory + "/restored", "--endpoint", server.endpoint,
                    ], environment: container.environment)
                try await Command.script(#"diff -r "$1" "$2""#, output, container.directory + "/restored")

                // An adopted object that was changed can no longer be read, and the error names it.
                try await put(container, prefix, ["d/long": 3_000_001])
                let refused = try await Command.run(
                    [container.binary, "evict", a.path("photos/d/long")], environment: container.environment)
                #expect(!refused.succeeded && refused.errors.contains("\(prefix)/d/long was changed or replaced"))
                #expect(try await a.sha256("photos/d/long") == hashes["d/long"])
                try await container.b.mount()
                try await container.b.sync()
                let changed = try await Command.run(["cat", container.b.path("photos/d/long")])
                #expect(!changed.succeeded && changed.errors.contains("Input/output error"))
                #expect(try await container.b.sha256("photos/a b+ü%.txt") == hashes["a b+ü%.txt"])
                let check = try await Command.run(
                    [container.binary, "check", a.point], environment: container.environment)
                #expect(check.status == 65 && check.output.contains("\(prefix)/d/long was changed or replaced"))
                try await Command.check(["rm", "-r", a.path("photos")])
                try await a.sync()
                #expect(try await list(container, prefix).count == 3)

                for (place, word) in [
                    ("s3://other-bucket/x", "another bucket"), (container.url + "/packs", "is inside the container"),
                    ("s3://\(S3Server.bucket)/mounts", "the container"),
                ] {
                    let result = try await Command.run(
                        [container.binary, "container", "adopt", container.url, place],
                        environment: container.environment)
                    #expect(result.status == 64 && result.errors.contains(word), "\(result.errors)")
                }
            }
        }

        /// Puts objects of random bytes into the bucket.
        private func put(_ container: MountedContainer, _ prefix: String, _ objects: [String: Int]) async throws {
            for (name, byteCount) in objects {
                try await python(
                    container, "client.put_object(Bucket=bucket, Key=sys.argv[3], Body=os.urandom(int(sys.argv[4])))",
                    "\(prefix)/\(name)", "\(byteCount)")
            }
        }

        /// The SHA-256 of each object below a prefix, by the rest of its key.
        private func list(_ container: MountedContainer, _ prefix: String) async throws -> [String: String] {
            let printed = try await python(
                container,
                """
                found = {}
                for item in client.list_objects_v2(Bucket=bucket, Prefix=sys.argv[3] + "/").get("Contents", []):
                    body = client.get_object(Bucket=bucket, Key=item["Key"])["Body"].read()
                    found[item["Key"][len(sys.argv[3]) + 1:]] = hashlib.sha256(body).hexdigest()
                print(json.dumps(found))
                """, prefix)
            return try JSONDecoder().decode([String: String].self, from: Data(printed.utf8))
        }

        private func keys(_ container: MountedContainer, _ prefix: String) async throws -> [String] {
            let place = container.url.split(separator: "/", maxSplits: 2).last ?? ""
            return try await list(container, "\(place)/\(prefix.dropLast())").keys.sorted()
        }

        @discardableResult
        private func python(_ container: MountedContainer, _ program: String, _ arguments: String...) async throws
            -> String
        {
            let start = """
                import boto3, hashlib, json, os, sys
                client, bucket = boto3.client("s3", endpoint_url=sys.argv[1]), sys.argv[2]

                """
            return try await Command.check(
                [
                    "python3", "-c", start + program, container.variables["AWS_ENDPOINT_URL", default: ""],
                    S3Server.bucket,
                ]
                    + arguments, environment: container.environment)
        }
    }
}
