import Foundation
import S3Server
import Testing

extension RealMount {
    /// What operations cost at a service that charges by the request.
    @Suite("Requests", .enabled(if: S3Server.isAvailable, "there is no S3 server: \(S3Server.unavailable ?? "")"))
    struct Requests {
        /// One request: its method, and the part of the container that it concerns. `nil` for one that looks for the next
        /// commit or reads one, whose number depends on the time, and for what the test itself requests.
        private static func kind(_ line: Substring, _ prefix: String) -> String? {
            let parts = line.split(separator: " ")
            guard parts.count == 2, parts[1] != "/" else { return nil }
            let (method, target) = (String(parts[0]), String(parts[1]))
            if target.contains("list-type=2") { return "LIST" }
            guard let place = target.range(of: prefix) else { return "\(method) above" }
            let key = target[place.upperBound...].drop { $0 != "/" }.dropFirst()
            let kind = "\(method) \(key.prefix { $0 != "/" })"
            return kind == "GET log" ? nil : kind
        }

        private struct Counter {
            let log: String
            let prefix: String

            /// The requests of `body` by kind, sorted.
            func count(_ body: () async throws -> Void) async throws -> String {
                let before = try lines().count
                try await body()
                // What the operation leaves behind, such as looking for the next commit.
                try await Task.sleep(for: .milliseconds(500))
                let kinds = try lines().dropFirst(before).compactMap { Requests.kind($0, prefix) }
                let counts = Dictionary(kinds.map { ($0, 1) }, uniquingKeysWith: +)
                return counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
            }

            private func lines() throws -> [Substring] {
                try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
            }
        }

        /// The rows of the table in Operations that are counted below.
        private static let rows = [
            "`container create` | 3 PUT, 1 DELETE, 8 LIST, and 1 GET for the bucket and each prefix above it",
            "`mount` | 2 GET and 1 PUT of `container.json`, 2 LIST, and 1 GET for each commit since the last mount",
            "the first upload after a mount | 1 GET and 1 PUT of `container.json` more",
            "the first commit in a minute | 1 GET more: the same for a store that has others in their place",
            "the first commit in 10 s | 1 LIST more: a store that lost its newest commits gets none behind the gap",
            "upload of small files | 1 PUT for each 10 MiB of them, and 1 for the commit",
            "upload of a file | 1 PUT for each 10 MiB of new bytes, 1 for its chunk list if it has more than 64 chunks, and 1 "
                + "for the commit",
            "rename, move, chmod, delete, of anything | 1 PUT",
            "download | 1 GET for each 1 to 8 MiB of adjacent bytes",
            "evict | 1 HEAD for each pack with bytes of the file",
            "`check` | 1 HEAD for each pack, 4 LIST for 1000 commits, 1 GET for each of the newest 2000 commits, and 1 for the "
                + "newest snapshot; with `--bytes` for all of them; 1 GET of `container.json`, or some for what opens an "
                + "encrypted container",
        ]

        @Test func `the requests of each operation are those of the table in Operations`() async throws {
            let page = try String(
                contentsOfFile: Requirement.sources + "/Sources/Model/Documentation.docc/Operations.md", encoding: .utf8
            )
            for row in Self.rows { #expect(page.contains("| \(row) |\n"), "\(row)") }
            try await MountedContainer.with(try await S3Server.shared, isDisconnectable: true) { container in
                let a = container.a
                let log = container.directory + "/requests"
                try Data().write(to: URL(filePath: log))
                try await a.unmount()
                try await #require(container.uplink).connect(writingTo: log)
                let counter = Counter(log: log, prefix: container.prefix)
                func expect(
                    _ counts: String, sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
                ) async throws {
                    let counted = try await counter.count(body)
                    // Of commits, the first one in 10 s has one more.
                    let first = counts.contains("PUT log") ? "1 LIST, " + counts : counts
                    #expect(counted == counts || counted == first, sourceLocation: sourceLocation)
                }
                // The bucket, and one prefix above the container.
                try await expect("1 DELETE probe, 2 GET above, 8 LIST, 1 PUT container.json, 2 PUT probe") {
                    try await container.dewpoint(["container", "create", container.url + "-new", "--id", "iCloud.x.y"])
                }
                let mounting = "2 GET container.json, 2 LIST, 1 PUT container.json"
                try await expect(mounting) { try await a.mount() }
                try await expect("1 GET container.json, 1 PUT container.json, 1 PUT log, 1 PUT packs") {
                    try await Command.script(#"cd "$1"; for n in $(seq 100); do echo $n > $n; done"#, a.point)
                    try await a.sync()
                }
                try await expect("1 PUT log, 1 PUT packs") {
                    try await a.write("small", byteCount: 1000)
                    try await a.sync()
                }
                try await expect("1 PUT log, 2 PUT packs") {
                    try await a.write("large", byteCount: 20_000_000)
                    try await a.sync()
                }
                try await expect("1 PUT log, 1 PUT manifests, 10 PUT packs") {
                    try await a.write("longer", byteCount: 100_000_000)
                    try await a.sync()
                }
                try await expect("1 PUT log") {
                    try await Command.script(#"mv "$1/small" "$1/other""#, a.point)
                    try await a.sync()
                }
                try await expect("2 HEAD packs") { try await a.evict("large") }
                let download = try await counter.count { _ = try await a.sha256("large") }
                let count = download.split(separator: " ").first.flatMap { Int($0) } ?? 0
                #expect(download == "\(count) GET packs" && 3...21 ~= count, "\(download)")
                try await expect("1 GET container.json, 14 HEAD packs, 4 LIST") { try await a.check() }
                try await expect("") { try await a.unmount() }
                try await expect(mounting) { try await a.mount() }
            }
        }
    }
}
