import Foundation
import Testing

extension RealMount {
    /// Programs that use the library Ubiquity, in both language modes, on two devices.
    @Suite(.needs("vim"), .needs("setfattr")) struct Ubiquity {
        /// The programs built from `Tests/UbiquityClient`.
        enum Client: String, CaseIterable, Sendable, CustomTestStringConvertible {
            case swift6 = "ubiquity-client"
            case swift5 = "ubiquity-client-5"

            var testDescription: String { rawValue }

            /// Next to the tests.
            var path: String {
                URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
                    .appendingPathComponent(rawValue).path
            }

            func run(
                _ scenario: String, _ container: MountedContainer, home: String = "A", limit: Duration = .seconds(120)
            ) async throws {
                let directory = container.directory + "/signals"
                try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
                let output = try await Command.check(
                    [path, scenario, container.a.point, container.b.point, directory], limit: limit,
                    environment: container.environment.merging(["UBIQUITY_MOUNTPOINTS": container.device(home).point]) {
                        $1
                    })
                #expect(output.hasSuffix("ok\n"))
            }
        }

        @Test(arguments: Client.allCases, ["coordination", "presenters", "creations", "move", "threads", "main-queue"])
        func `programs coordinate with plain programs and another device`(
            _ client: Client, _ scenario: String
        ) async throws {
            try await MountedContainer.with(devices: ["A", "B"]) { try await client.run(scenario, $0) }
        }

        @Test(arguments: Client.allCases, ["containers", "downloads", "moves"])
        func `programs find, download, evict and move items`(_ client: Client, _ scenario: String) async throws {
            try await MountedContainer.with(devices: ["A", "B"]) { try await client.run(scenario, $0) }
        }

        @Test(arguments: Client.allCases, ["conflicts", "resolved"])
        func `programs find and resolve conflicts`(_ client: Client, _ scenario: String) async throws {
            try await MountedContainer.with(devices: ["A", "B"]) { try await client.run(scenario, $0) }
        }

        @Test(arguments: Client.allCases, ["documents", "document-moves", "document-conflicts"])
        func `documents follow plain programs and another device`(_ client: Client, _ scenario: String) async throws {
            try await MountedContainer.with(devices: ["A", "B"]) { try await client.run(scenario, $0) }
        }

        @Test(arguments: Client.allCases)
        func `published samples run with only the import changed`(_ client: Client) async throws {
            try await MountedContainer.with(devices: ["A", "B"]) { try await client.run("samples", $0) }
        }

        @Test(arguments: Client.allCases, ["queries", "transitions"])
        func `queries follow downloads and another device`(_ client: Client, _ scenario: String) async throws {
            try await MountedContainer.with(devices: ["A", "B"]) { try await client.run(scenario, $0, home: "B") }
        }

        @Test(arguments: Client.allCases, ["presented-once", "queried-once"])
        func `each change of another device is heard once`(_ client: Client, _ scenario: String) async throws {
            try await MountedContainer.with(devices: ["A", "B"]) { try await client.run(scenario, $0) }
        }

        @Test(arguments: Client.allCases)
        func `presenters that coordinate in their change handlers do not hang`(_ client: Client) async throws {
            try await MountedContainer.with(devices: ["A", "B"], options: "deadlock=fail") {
                try await client.run("handlers", $0)
            }
        }

        @Test(arguments: Client.allCases)
        func `the percentage of a download passes intermediate values`(_ client: Client) async throws {
            try await MountedContainer.with(devices: ["A", "B"]) { try await client.run("percentages", $0) }
        }

        @Test(arguments: Client.allCases)
        func `queries and documents survive a killed daemon`(_ client: Client) async throws {
            try await MountedContainer.with(devices: ["A", "B"]) { container in
                async let scenario: Void = client.run("restart-query", container, home: "B")
                let signals = container.directory + "/signals"
                for (wait, act) in [("gathered", "killed"), ("tried", "restarted")] {
                    try await eventually("the client has not \(wait)") {
                        FileManager.default.fileExists(atPath: signals + "/" + wait)
                    }
                    if act == "killed" { try container.b.crash() } else { try await container.b.mount() }
                    try await Command.script(#"touch "$1/$2""#, signals, act)
                }
                try await scenario
            }
        }

        @Test(.needsSupervisor, arguments: Client.allCases)
        func `presenters are told of what was written while their daemon was replaced`(_ client: Client) async throws {
            try await MountedContainer.with(devices: ["B"]) { container in
                let container = container.surviving()
                try await container.a.mount(options: "survive")
                async let scenario: Void = client.run("replacement", container)
                let signals = container.directory + "/signals"
                for round in 1...3 {
                    try await eventually("the client is not ready") {
                        FileManager.default.fileExists(atPath: signals + "/ready \(round)")
                    }
                    try container.a.crash()
                    try await Command.script(#"touch "$1""#, signals + "/killed \(round)")
                }
                try await scenario
            }
        }

        @Test(arguments: Client.allCases)
        func `programs survive a killed daemon and go on with the next one`(_ client: Client) async throws {
            try await MountedContainer.with(devices: ["A", "B"]) { container in
                async let scenario: Void = client.run("restart", container)
                let signals = container.directory + "/signals"
                try await eventually("the client holds no claim") {
                    FileManager.default.fileExists(atPath: signals + "/held")
                }
                try container.a.crash()
                try await container.a.mount()
                try await Command.script(#"touch "$1/restarted""#, signals)
                try await scenario
            }
        }
    }
}
