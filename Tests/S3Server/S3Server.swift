import Foundation
import Programs

/// A real S3 server for tests: Ceph on this machine, run by `scripts/s3-server`. It ends with the test process, even
/// if that is killed.
package struct S3Server: Sendable {
    package let directory: String
    /// The variables that `dewpoint` and the AWS tools need: endpoint, region and keys, and a home without keys.
    package let variables: [String: String]

    /// The credentials of a user of the server that owns nothing there.
    package static let stranger = [
        "AWS_ACCESS_KEY_ID": "strangerkey", "AWS_SECRET_ACCESS_KEY": "strangersecret",
    ]

    /// The name of that user in policies.
    package static let strangerName = "stranger"

    /// Why the server cannot run on this machine; `nil` if it can.
    package static let unavailable: String? = {
        if isSeaweedFS {
            let isInstalled = FileManager.default.isExecutableFile(atPath: seaweed)
            return isInstalled ? nil : "SeaweedFS is not installed; see scripts/seaweedfs-server"
        }
        let programs = ["ceph", "ceph-mon", "ceph-osd", "radosgw", "radosgw-admin", "monmaptool", "curl", "python3"]
        let missing = programs.filter { !isInstalled($0) }
        return missing.isEmpty ? nil : "\(missing.joined(separator: ", ")) not installed; see scripts/dependencies test"
    }()

    /// Whether it is SeaweedFS, of which only the contract is tested, and not how it fails.
    package static var isSeaweedFS: Bool { ProcessInfo.processInfo.environment["S3_SERVER"] == "seaweedfs" }

    package static var isAvailable: Bool { unavailable == nil }

    /// The server that all tests of this process share, started on first use, with a bucket named ``bucket``.
    package static var shared: S3Server {
        get async throws { try await sharing.value }
    }

    package static let bucket = "dewpoint-tests"

    private static let sharing = Task {
        let server = try await start()
        try await server.control("bucket", bucket)
        return server
    }

    /// - Parameter store: `memstore`, or `bluestore`, which survives kills.
    package static func start(store: String = "memstore") async throws -> S3Server {
        // Short: the names of Ceph's sockets must fit into 107 bytes.
        let directory = "/tmp/dewpoint-s3-\(getpid())-\(UInt32.random(in: 0...UInt32.max))"
        try await run(["start", directory, store], environment: ["OWNER": "\(getpid())"])
        let text = try String(contentsOfFile: directory + "/environment", encoding: .utf8)
        var variables = ["HOME": directory + "/home", "AWS_EC2_METADATA_DISABLED": "true"]
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: "=", maxSplits: 1).map(String.init)
            variables[parts[0]] = parts[1]
        }
        return S3Server(directory: directory, variables: variables)
    }

    package var endpoint: String { variables["AWS_ENDPOINT_URL", default: ""] }

    /// Runs a verb of the script, such as `kill`.
    package func control(_ verb: String, _ arguments: String...) async throws {
        try await Self.run([verb, directory] + arguments, environment: [:])
    }

    /// Ends a server that is not shared.
    package func stop() async throws {
        // The data of the server is discarded, so that an orderly shutdown is not needed.
        try await control("kill")
        try FileManager.default.removeItem(atPath: directory)
    }

    // MARK: - Private

    private static let script = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../scripts/s3-server").standardizedFileURL.path

    private static let seaweed = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../.build/seaweedfs/bin/weed").standardizedFileURL.path

    private static func isInstalled(_ program: String) -> Bool {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        return (path.split(separator: ":").map(String.init) + ["/usr/sbin", "/sbin"])
            .contains { FileManager.default.isExecutableFile(atPath: "\($0)/\(program)") }
    }

    private static func run(_ arguments: [String], environment: [String: String]) async throws {
        try await Program.run([script] + arguments, environment: environment)
    }
}
