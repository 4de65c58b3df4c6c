import ControlAPI
import Foundation
import Metering
import Model
import Testing

extension RealMount {
    /// Every metric is made to move by what users and stores do. `request` retries are in RemoteS3Tests.
    @Suite("Monitoring") struct Monitoring {
        /// The values of one page of metrics, by name and labels.
        private struct Page {
            let values: [String: Double]

            subscript(metric: Metric, labels: String = "", suffix suffix: String = "") -> Double {
                values[metric.name + suffix + labels] ?? 0
            }

            /// Whether a metric has a value at all.
            func has(_ metric: Metric) -> Bool { values.keys.contains { $0.hasPrefix(metric.name) } }

            init(_ text: String) {
                var values: [String: Double] = [:]
                for line in text.split(separator: "\n") where !line.hasPrefix("#") {
                    guard let space = line.lastIndex(of: " ") else { continue }
                    values[String(line[..<space])] = Double(line[line.index(after: space)...])
                }
                self.values = values
            }
        }

        private func curl(_ device: Device, _ path: String, _ options: String...) async throws -> String {
            let socket = try #require(
                ControlSocket.find(
                    mountpoint: device.point, environment: device.container.environment, owner: geteuid()))
            return try await Command.check(
                ["curl", "--silent", "--unix-socket", socket.path] + options + ["http://localhost" + path])
        }

        private func page(_ device: Device) async throws -> Page { Page(try await curl(device, "/metrics")) }

        private func health(_ device: Device) async throws -> String {
            try await curl(device, "/healthz", "--write-out", "%{http_code}")
        }

        @Test func `operations, requests, bytes and items are counted`() async throws {
            try await MountedContainer.with(
                devices: ["A", "B"], options: "off=all", creating: ["--quota", "1G"]
            ) { container in
                let (a, b) = (container.a, container.b)
                let before = try await page(a)
                #expect(before[.usedBytes] == 0 && before[.quotaBytes] == 1_073_741_824)
                try await a.write("folder/large", byteCount: 3_000_000)
                #expect(try await !Command.run(["rmdir", a.path("folder")]).succeeded)
                try await a.sync()
                let written = try await page(a)
                #expect(written[.writtenBytes] - before[.writtenBytes] == 3_000_000)
                #expect(written[.uploadedBytes] - before[.uploadedBytes] > 3_000_000)
                #expect(written[.items] == 2 && written[.localFiles] == 1)
                #expect(written[.cacheBytes] >= 3_000_000)
                #expect(written[.usedBytes] == 3_000_000)
                #expect(written[.operationErrors, #"{operation="rmdir",errno="ENOTEMPTY"}"#] == 1)
                #expect(written[.appliedCommit] > before[.appliedCommit])
                #expect(written.has(.lastCommitSeconds) && written[.lastCommitSeconds] < 120)
                #expect(written[.pendingUploads] == 0)
                #expect(written[.buildInformation, "{version=\"\(Release.version)\"}"] == 1)
                #expect(written[.healthy] == 1 && written[.storeAnswers] == 1)
                for request in ["put", "create", "get", "list"] {
                    #expect(
                        written[.requestSeconds, "{request=\"\(request)\"}", suffix: "_count"] > 0,
                        "\(request)")
                }
                // The log is polled for a commit that is not there.
                #expect(written[.requestErrors, #"{request="get",error="notFound"}"#] > 0)

                try await a.evict("folder/large")
                let evicted = try await page(a)
                #expect(evicted[.evictions] == 1 && evicted[.evictedBytes] == 3_000_000)
                #expect(evicted[.localFiles] == 0)
                try await Command.check(["cat", a.path("folder/large")])
                let read = try await page(a)
                #expect(read[.downloadedBytes] - evicted[.downloadedBytes] >= 3_000_000)
                #expect(read[.readBytes] - evicted[.readBytes] >= 3_000_000)
                for operation in ["lookup", "getattr", "open", "read", "write", "create", "release", "mkdir"] {
                    let labels = "{operation=\"\(operation)\"}"
                    #expect(read[.operationSeconds, labels, suffix: "_count"] > 0, "\(operation)")
                    #expect(read[.operationSeconds, labels, suffix: "_sum"] > 0, "\(operation)")
                }

                // Two edits of one file that do not know of each other.
                try await a.write("both", byteCount: 10)
                try await a.sync()
                try await b.sync()
                try await container.dewpoint(["pause", b.point])
                try await a.write("both", byteCount: 1000)
                try await b.write("both", byteCount: 1000)
                let paused = try await page(b)
                #expect(paused[.pendingUploads] == 1 && paused[.pendingUploadBytes] == 1000)
                try await a.sync()
                try await container.dewpoint(["resume", b.point])
                try await b.sync()
                #expect(try await page(b)[.conflicts] == 1)
                // Neither of them has promised to commit.
                #expect(try await page(b)[.overdueDevices] == 0)
            }
        }

        @Test func `queues, retries and the store's silence show on a bad link`() async throws {
            try await MountedContainer.with(devices: ["A", "B"]) { container in
                let (a, b) = (container.a, container.b)
                try await Command.script(
                    #"mkdir "$1/d"; for n in $(seq 8); do head -c 2000000 /dev/urandom > "$1/d/$n"; done"#, a.point)
                try await a.sync()
                try await b.sync()
                // B falls behind, and catches up over a slow link.
                try await container.dewpoint(["pause", b.point])
                for number in 1...8 {
                    try await a.write("\(number)", byteCount: 10)
                    try await a.sync()
                }
                try await container.dewpoint(["link", "set", b.point, "--delay", "700"])
                try await container.dewpoint(["resume", b.point])
                try await eventually("commits are behind") { try await page(b)[.commitsBehind] >= 2 }
                try await eventually("all commits are applied") { try await page(b)[.commitsBehind] == 0 }

                try await container.dewpoint(["link", "set", b.point, "--down", "16"])
                try await container.dewpoint(["download", b.path("d")])
                try await eventually("four downloads run, the others wait") {
                    let page = try await page(b)
                    return page[.activeDownloads] == 4 && page[.waitingDownloads] == 4
                }
                try await container.dewpoint(["link", "set", b.point, "--profile", "100%-loss"])
                try await b.write("new", byteCount: 10)
                try await eventually("all are retried") {
                    let page = try await page(b)
                    return ["upload", "follow", "download"].allSatisfy { page[.retries, "{by=\"\($0)\"}"] > 0 }
                        && page[.storeAnswers] == 0
                }
                // Offline is healthy.
                #expect(try await health(b) == "ok\n200")
                try await container.dewpoint(["link", "clear", b.point])
                try await eventually("the store answers again") { try await page(b)[.storeAnswers] == 1 }
            }
        }

        @Test func `claims and held programs are counted`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                try await Command.script(
                    #"mkdir "$1/d"; for n in $(seq 10 29); do head -c 9000 /dev/urandom > "$1/d/$n"; done"#, a.point)
                try await a.sync()
                try await a.evict("d")
                try await a.unmount()
                try await a.mount(options: "storm_files=5")
                let grep = Task {
                    try await Command.run(["grep", "-r", "no such line", a.path("d")], limit: .seconds(60))
                }
                try await eventually("it is held") { try await page(a)[.heldPrograms] == 1 }
                try await container.dewpoint(["allow-download", "\(try await storm(a))"])
                _ = try await grep.value

                try await a.write("claimed", byteCount: 10)
                let claim = [container.binary, "coordinate", a.path("claimed"), "--"]
                let holder = Task {
                    try await Command.run(
                        claim + ["sleep", "8"], limit: .seconds(60), environment: container.environment)
                }
                try await eventually("one is held") { try await page(a)[.claims, #"{state="held"}"#] == 1 }
                let waiter = Task {
                    try await Command.run(claim + ["true"], limit: .seconds(60), environment: container.environment)
                }
                try await eventually("one waits") { try await page(a)[.claims, #"{state="waiting"}"#] == 1 }
                #expect(try await holder.value.succeeded)
                #expect(try await waiter.value.succeeded)
                try await eventually("none is left") { try await page(a)[.claims, #"{state="held"}"#] == 0 }
            }
        }

        private func storm(_ device: Device) async throws -> Int32 {
            let text = try await curl(device, "/v1/status")
            let status = try JSONDecoder().decode(ContainerStatus.self, from: Data(text.utf8))
            return try #require(status.storms?.first?.group)
        }

        @Test func `a mass delete that is held is counted`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                try await Command.script(
                    #"mkdir "$1/d"; cd "$1/d"; for n in $(seq 1100); do : > "$n"; done"#, a.point, limit: .seconds(120))
                try await a.sync()
                try await Command.script(#"rm -r "$1/d""#, a.point, limit: .seconds(120))
                try await eventually("the deletions are held") { try await page(a)[.heldDeletions] == 1101 }
                try await container.dewpoint(["confirm", a.point])
                try await eventually("they are uploaded") { try await page(a)[.heldDeletions] == 0 }
            }
        }

        @Test(.needsDirectory)
        func `another container in the store's place is not healthy, with the reason`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                try await a.write("f", byteCount: 1000)
                try await a.sync()
                #expect(try await health(a) == "ok\n200")
                try await a.unmount()
                try await Command.check(["mv", container.remote, container.remote + "-kept"])
                try await container.dewpoint(["container", "create", container.url, "--id", "iCloud.org.other"])
                try await a.mount()
                try await eventually("it is noticed") { try await health(a).hasSuffix("\n503") }
                #expect(try await health(a).contains("iCloud.org.other"))
                #expect(try await page(a)[.healthy] == 0)
            }
        }

        @Test func `a port on loopback has metrics and health, and nothing else`() async throws {
            try await MountedContainer.with(devices: []) { container in
                let a = container.a
                let port = FreePort.random()
                try await a.mount(options: "metrics_port=\(port)")
                try await a.write("secret-name", byteCount: 100)
                try await a.sync()
                let url = "http://127.0.0.1:\(port)"
                let metrics = try await Command.check(["curl", "--silent", "--include", url + "/metrics"])
                #expect(metrics.lowercased().contains("content-type: \(PrometheusText.contentType)"))
                #expect(metrics.contains("\ndewpoint_items 1\n"))
                #expect(!metrics.contains("secret-name") && !metrics.contains(a.point))
                #expect(try await Command.check(["curl", "--silent", url + "/healthz"]) == "ok\n")
                for path in ["/v1/status", "/", "/metrics/"] {
                    let status = try await Command.check(
                        ["curl", "--silent", "--output", "/dev/null", "--write-out", "%{http_code}", url + path])
                    #expect(status == "404", "\(path)")
                }
                let posted = try await Command.check(
                    [
                        "curl", "--silent", "--request", "POST", "--output", "/dev/null", "--write-out", "%{http_code}",
                        url + "/metrics",
                    ])
                #expect(posted == "405")
                // A second mount cannot have the same port, and says so before anything is mounted.
                let b = container.b
                let point = b.point
                try await Command.check(["mkdir", point])
                let second = try await Command.run(
                    [
                        container.binary, "mount", container.url, point, "--state", b.state, "-o",
                        "metrics_port=\(port)",
                    ], environment: container.environment)
                #expect(second.status == 75 && second.errors.contains("port \(port) of 127.0.0.1 is in use"))
            }
        }

        @Test func `nobody keeps the port of the metrics for himself`() async throws {
            try await MountedContainer.with(devices: []) { container in
                let port = FreePort.random()
                try await container.a.mount(options: "metrics_port=\(port)")
                try await Driver.run("strangers.py", "\(port)", "100")
                #expect(
                    try await Command.check(
                        ["curl", "--silent", "http://127.0.0.1:\(port)/healthz"], limit: .seconds(20))
                        == "ok\n")
            }
        }

        @Test func `every metric is named in this file`() throws {
            let text = try String(contentsOfFile: #filePath, encoding: .utf8)
            for metric in Metric.allCases { #expect(text.contains(".\(metric)"), "\(metric) is not tested") }
        }
    }
}
