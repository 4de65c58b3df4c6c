import Foundation
import Model
import Testing

extension RealMount {
    @Suite("The cache limit") struct CacheLimit {
        private let megabyte = 1 << 20

        private func isLocal(_ name: String, on device: Device) async throws -> Bool {
            try await device.downloadingStatus(name) == .current
        }

        private func status(_ container: MountedContainer) async throws -> ContainerStatus {
            let output = try await container.statusOfAll()
            return try #require(
                try JSONDecoder().decode([ContainerStatus].self, from: Data(output.utf8)).first {
                    $0.mountpoint == container.a.point
                })
        }

        @Test func `the least recently read files are evicted; pinned, open and modified files are not`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                var hashes: [String: String] = [:]
                for name in ["1", "2", "3", "4", "5", "open", "pinned"] {
                    try await a.write(name, byteCount: megabyte)
                    hashes[name] = try await a.sha256(name)
                }
                try await a.sync()
                try await a.evict("")
                try await a.unmount()
                try await a.mount(options: "cache_limit=6200K")

                try await a.set("pinned", "1", on: "pinned")
                try await a.set("download", "wait", on: "pinned")
                #expect(try await a.sha256("open") == hashes["open"])
                // A file that is not in the container could not be downloaded again.
                try await a.set("syncPaused", "1", on: "")
                try await a.write("changed", byteCount: megabyte)
                let changed = try await a.sha256("changed")
                let over = container.directory + "/over"
                let reader = Task {
                    try await Command.script(
                        #"exec 3< "$1"; touch "$2-open"; until test -e "$2"; do sleep 0.1; done"#, a.path("open"), over,
                        limit: .seconds(120))
                }
                try await eventually("it is open") {
                    FileManager.default.fileExists(atPath: over + "-open")
                }
                for name in ["1", "2", "3"] { #expect(try await a.sha256(name) == hashes[name]) }
                // 1 is read again, so 2 is now the least recently read file.
                #expect(try await a.sha256("1") == hashes["1"])
                #expect(try await a.sha256("4") == hashes["4"])
                try await eventually("something goes when the limit is passed") {
                    try await !isLocal("2", on: a)
                }
                for name in ["1", "4", "open", "pinned", "changed"] {
                    #expect(try await isLocal(name, on: a), "\(name) stays")
                }
                #expect(try await a.sha256("changed") == changed)
                let cache = try #require(try await status(container).cache)
                #expect(cache.byteLimit == 6200 << 10)
                try await eventually("the limit is kept") {
                    try #require(try await status(container).cache).byteCount <= 6200 << 10
                }
                let round = try #require(try await status(container).cache?.lastRound)
                #expect(round.evictedFileCount >= 1 && round.missingByteCount == 0)
                #expect(round.blockedBy == ["pinned": 1, "open": 1, "changed": 1])
                let text = try await container.statusText()
                #expect(text.contains("of at most 6.1 MiB"))
                #expect(text.contains("stayed: 1 changed, 1 open, 1 pinned"))
                // The evicted files are downloaded again, with the same bytes.
                for name in ["1", "2", "3", "4", "5"] { #expect(try await a.sha256(name) == hashes[name]) }
                try await Command.check(["touch", over])
                _ = try await reader.value
                try await a.set("syncPaused", "0", on: "")
                try await a.sync()
                try await a.check()
            }
        }

        @Test func `two files larger than the limit can be read at once and are evicted when closed`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                var hashes: [String] = []
                for name in ["one", "two"] { hashes.append(try await a.placeholder(name, byteCount: 5 * megabyte)) }
                try await a.unmount()
                try await a.mount(options: "cache_limit=2M")
                async let one = a.sha256("one")
                async let two = a.sha256("two")
                #expect(try await [one, two] == hashes)
                try await eventually("both go") {
                    let isOneHere = try await isLocal("one", on: a)
                    let isTwoHere = try await isLocal("two", on: a)
                    return !isOneHere && !isTwoHere
                }
                #expect(try await a.sha256("one") == hashes[0])
                try await a.check()
            }
        }

        @Test func `a daemon killed during eviction continues at the next start and damages no file`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                try await Command.script(
                    #"mkdir "$1/d"; for n in $(seq 200); do head -c 65536 /dev/urandom > "$1/d/$n"; done; cd "$1" && sha256sum d/* > "$2""#,
                    a.point, container.directory + "/sums")
                try await a.sync()
                try await a.unmount()
                for _ in 0..<3 {
                    try await a.mount(options: "cache_limit=2M")
                    // The cache evictor runs right after the start.
                    try await Task.sleep(for: .milliseconds(200))
                    try a.crash()
                    try await eventually("the daemon is gone") {
                        Leftovers.daemons(mentioning: a.state).isEmpty
                    }
                }
                try await a.mount(options: "cache_limit=2M")
                try await eventually("the limit is kept") {
                    try #require(try await status(container).cache).byteCount <= 2 << 20
                }
                try await a.check()
                try await Command.script(
                    #"cd "$1" && sha256sum --quiet -c "$2""#, a.point, container.directory + "/sums")
            }
        }
    }
}
