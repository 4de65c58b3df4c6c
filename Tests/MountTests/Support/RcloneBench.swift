import Foundation
import Programs
import S3Server

/// A source directory, remotes of rclone with its files, and a `rclone` that notes how it is run, for one test.
struct RcloneBench {
    /// The remotes that imports are tried with.
    enum Kind: Sendable { case local, crypt, webdav, s3 }

    let container: MountedContainer
    let directory: String
    private let variables: [String: String]

    /// The directory whose files the remotes have.
    var source: String { directory + "/source" }
    private var configuration: String { directory + "/rclone.conf" }
    /// One line for each run of rclone: its arguments.
    var log: String { directory + "/log" }
    /// Where the program goes that is run in the place of rclone.
    private var program: String { directory + "/bin/rclone" }

    /// rclone itself.
    private static let real =
        (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map { "\($0)/rclone" }
        .first { FileManager.default.isExecutableFile(atPath: $0) } ?? "rclone"

    /// - Parameter variables: Those of an S3 server.
    init(_ container: MountedContainer, _ variables: [String: String] = [:]) async throws {
        self.container = container
        self.variables = variables
        directory = container.directory + "/rclone"
        try await Command.script(
            #"""
            mkdir -p "$1/source/d/deep" "$1/bin" "$1/crypt"; : > "$1/log"; cd "$1/source"
            head -c 3000000 /dev/urandom > d/long; echo one > 'd/b c'; : > d/deep/empty; echo u > "$(printf 'd/cafe\xcc\x81')"
            echo t > top; touch -d '2001-02-03 04:05:06.5' top
            """#, directory)
        try put("")
    }

    /// The environment of the program under test.
    var environment: [String: String] {
        var result = container.environment.merging(variables) { first, _ in first }
        result["RCLONE_CONFIG"] = configuration
        result["RCLONE_RETRIES_SLEEP"] = "0s"
        result["BENCH"] = directory
        result["REAL"] = Self.real
        result["PATH"] = "\(directory)/bin:\(ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin")"
        return result
    }

    /// Puts a shell script in the place of rclone, which may run `"$REAL"` and end; else rclone itself is run.
    func put(_ script: String) throws {
        // This rclone cannot use the variable for authorities, but its own.
        let text = """
            #!/bin/bash
            echo "$*" >> "$BENCH/log"
            if [ -v AWS_CA_BUNDLE ]; then export RCLONE_CA_CERT="$AWS_CA_BUNDLE"; unset AWS_CA_BUNDLE; fi
            \(script)
            exec "$REAL" "$@"

            """
        try Data(text.utf8).write(to: URL(filePath: program))
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program)
    }

    /// Runs `body` with a remote that has the files of ``source``, and a closure that brings changes of it to the remote.
    func with(_ kind: Kind, _ body: (_ remote: String, _ refresh: () async throws -> Void) async throws -> Void)
        async throws
    {
        switch kind {
        case .local:
            try configure("type = alias", "remote = \(source)")
            try await body("r:") {}
        case .crypt:
            let password = try await Command.check([Self.real, "obscure", "secret"])
            try configure("type = crypt", "remote = \(directory)/crypt", "password = \(password)")
            try await copy(to: "r:")
            try await body("r:") { try await copy(to: "r:") }
        case .webdav:
            let port = FreePort.random()
            let server = try Program(
                // Without a cache of listings, which would hide changes.
                [
                    Self.real, "serve", "webdav", source, "--addr", "127.0.0.1:\(port)", "--dir-cache-time",
                    "1ms",
                ], environment: ["RCLONE_CONFIG": "/dev/null"])
            defer { server.end() }
            try configure("type = webdav", "url = http://127.0.0.1:\(port)", "vendor = other")
            for _ in 0..<50 {
                if try await rclone(["lsf", "r:"]).succeeded { break }
                try await Task.sleep(for: .milliseconds(100))
            }
            try await body("r:") {}
        case .s3:
            try configure(
                "type = s3", "provider = Ceph", "env_auth = true", "endpoint = \(variables["AWS_ENDPOINT_URL"] ?? "")")
            let place = "r:\(S3Server.bucket)/rclone/\(UUID().uuidString)"
            try await copy(to: place)
            try await body(place) { try await copy(to: place) }
        }
    }

    /// Makes the source itself the remote `r:`.
    func configureLocal() throws { try configure("type = alias", "remote = \(source)") }

    private func configure(_ lines: String...) throws {
        try Data((["[r]"] + lines).joined(separator: "\n").utf8).write(to: URL(filePath: configuration))
    }

    private func copy(to place: String) async throws {
        let result = try await rclone(["sync", "--s3-no-check-bucket", source, place])
        guard result.succeeded else { throw Command.Failed(arguments: ["rclone", "sync"], result: result) }
    }

    private func rclone(_ arguments: [String]) async throws -> Command {
        try await Command.run([program] + arguments, limit: .seconds(60), environment: environment)
    }

    /// Imports a remote; `arguments` and `variables` are added.
    func importing(
        _ remote: String = "r:", _ arguments: String..., variables: [String: String] = [:]
    ) async throws -> Command {
        try await Command.run(
            [container.binary, "container", "import", "--from", "rclone:\(remote)", container.url] + arguments,
            limit: .seconds(120), environment: environment.merging(variables) { $1 })
    }

    /// How often rclone has fetched something.
    func fetchCount() throws -> Int {
        let text = try String(contentsOfFile: log, encoding: .utf8)
        return text.split(separator: "\n").count { $0.hasPrefix("copy") }
    }
}
