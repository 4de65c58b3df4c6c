import Foundation
import Model
import S3Server
import Testing

extension RealMount {
    /// A device that may read the container and not change it.
    @Suite("ReadOnly") struct ReadOnly {
        @Test(.needsRoot(to: "remount"))
        func `a mount can be made read-only for programs, and writable again`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                try await a.write("f", byteCount: 10)
                // As mount(8) calls it, with what the mount has already.
                let helper = [
                    "/bin/sh", Requirement.sources + "/scripts/packaging/mount.dewpoint", "dewpoint", a.point,
                ]
                try await Command.check(helper + ["-o", "rw,nosuid,remount,ro", "-t", "fuse.dewpoint"])
                #expect(try await a.call("open", "new", "O_CREAT,O_WRONLY") == "EROFS")
                #expect(try await a.sha256("f").count == 64)
                try await a.sync()
                try await Command.check(helper + ["-o", "remount,rw"])
                #expect(try await a.call("open", "new", "O_CREAT,O_WRONLY") == "OK")
                try await a.sync()
                try await a.check()
            }
        }

        @Test func `a directory that may only be read is mounted read-only, and says so`() async throws {
            try await MountedContainer.with(devices: []) { container in
                guard container.bucketURL == nil else { return }
                let lock = DirectoryLock(container.remote)
                try await lock.prepare()
                do {
                    try await Self.check(container, reader: container, refusal: "\(container.remote) is read-only") {
                        try await lock.close()
                    } opening: {
                        try await lock.open()
                    }
                } catch {
                    try await lock.remove()
                    throw error
                }
                try await lock.remove()
            }
        }

        @Test(.enabled(if: S3Server.isAvailable && !S3Server.isSeaweedFS, "only Ceph's users are managed here"))
        func `a bucket that the keys may only read is mounted read-only, and says so`() async throws {
            let server = try await S3Server.start()
            try await server.control("bucket", S3Server.bucket)
            try await MountedContainer.with(server, devices: []) { container in
                var reader = container
                reader.variables.merge(S3Server.stranger) { $1 }
                let refusal =
                    "the access key strangerkey from the environment may not PUT in the bucket \(S3Server.bucket); it needs "
                    + "the rights to list it and to get, put and delete its objects (403 AccessDenied)"
                try await container.bucket(
                    "admit", S3Server.bucket, S3Server.strangerName, "GetObject", "ListBucket")
                // Objects that the reader wrote would be the reader's, so the owner's keys are those that may write.
                try await Self.check(container, reader: reader, refusal: refusal, closing: {}, opening: {})
            }
            try await server.stop()
        }

        /// - Parameters:
        ///   - container: For devices that may write, while writing is not denied to all.
        ///   - reader: For the device that may not.
        ///   - refusal: Why the store denies it.
        ///   - closing: Denies it writing.
        ///   - opening: Permits it.
        private static func check(
            _ container: MountedContainer, reader: MountedContainer, refusal: String,
            closing: () async throws -> Void, opening: () async throws -> Void
        ) async throws {
            let (a, b, permitted) = (container.a, reader.device("B"), container.device("B"))
            try await a.mount()
            try await a.write("folder/file", byteCount: 100_000)
            try await a.write("other", byteCount: 1000)
            try await a.sync()
            let hash = try await a.sha256("folder/file")
            try await a.unmount()

            try await closing()
            let who = container.bucketURL == nil ? "this user" : "these keys"
            let notice =
                "dewpoint: the store at \(container.url) refuses writing, so the mount is read-only; if that is not "
                + "intended, give \(who) the right to write, then unmount and mount again: \(refusal)\n"
            try FileManager.default.createDirectory(atPath: b.point, withIntermediateDirectories: true)
            #expect(try await mount(b) == Command.Said(status: 0, errors: notice))
            try await refusesChanges(b)
            #expect(try await b.sha256("folder/file") == hash)
            let status = try await status(b)
            #expect(status.readOnly == .init(.store, detail: refusal))
            #expect(status.problem == nil)
            let text = try await reader.dewpoint(["status", b.point])
            #expect(text.contains("  refused: the store refuses writing: \(refusal)\n"), "\(text)")

            // What concerns this machine only goes by the commands, and not by attributes.
            for command in [["evict"], ["download", "--wait"], ["pin"], ["unpin"], ["evict"]] {
                try await reader.dewpoint([command[0]] + command.dropFirst() + [b.path("folder/file")])
            }
            #expect(try await b.downloadingStatus("folder/file") == .notDownloaded)
            let copy = container.directory + "/copy"
            try await reader.dewpoint(["versions", b.path("other"), copy, "--save", "current"])
            try await Command.check(["cmp", copy, b.path("other")])
            try await reader.dewpoint(["sync", b.point, "--wait"])
            try await b.check()
            let sentence = "the store refuses writing, so this mount is read-only: \(refusal)"
            let garbage = try await run(reader, ["container", "gc", b.point])
            #expect(garbage.status == 77 && garbage.errors.contains(sentence), "\(garbage.errors)")
            try await Command.script(#"mkdir "$1"; echo new > "$1/new""#, container.directory + "/tree")
            let imported = try await run(
                reader, ["container", "import", container.directory + "/tree", container.url])
            #expect(imported.status == 77, "\(imported.errors)")

            // It follows the others all the same, and remains as it was mounted.
            try await opening()
            try await a.mount()
            try await a.write("later", byteCount: 1000)
            try await a.sync()
            try await a.unmount()
            try await eventually("the reader follows") { try listing(b.point) == ["folder", "later", "other"] }
            try await refusesChanges(b)
            let log = try String(contentsOfFile: b.state + "/daemon.log", encoding: .utf8)
            #expect(log.split(separator: "\n").count { $0.contains("refuses writing") } == 1, "\(log)")
            #expect(!log.contains("warning") && !log.contains("error"), "\(log)")

            // A new mount may write, and one after it may not; what waits then stays.
            try await b.unmount()
            #expect(try await mount(permitted) == Command.Said(status: 0, errors: ""))
            #expect(try await Self.status(b).readOnly == nil)
            try await b.write("mine", byteCount: 1000)
            try await b.sync()
            try await reader.dewpoint(["pause", b.point])
            try await b.write("waiting", byteCount: 1000)
            _ = try await run(reader, ["unmount", b.point])
            try await closing()
            #expect(try await mount(b) == Command.Said(status: 0, errors: notice))
            try await reader.dewpoint(["resume", b.point])
            let waits =
                "1 change waits here and cannot leave, since the store refuses writing; a mount that may write uploads them"
            #expect(try await Self.status(b).problem == waits)
            #expect(
                try await run(reader, ["sync", b.point]) == Command.Said(status: 77, errors: "dewpoint: \(waits)\n"))
            let left = try await run(reader, ["unmount", b.point])
            #expect(left.status == 0 && left.errors.contains("a mount that may write, with this state,"), "\(left)")
            try await opening()
            #expect(try await mount(permitted) == Command.Said(status: 0, errors: ""))
            try await b.sync()
            try await a.mount()
            try await a.sync()
            #expect(try listing(a.point) == ["folder", "later", "mine", "other", "waiting"])
        }

        @Test func `a mount with the option ro says so, and its commands need no attribute`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                try await a.write("file", byteCount: 1000)
                try await a.sync()
                try await a.unmount()
                try await a.mount(options: "ro")
                try await Self.refusesChanges(a)
                #expect(try await Self.status(a).readOnly == .init(.option))
                let text = try await container.dewpoint(["status", a.point])
                #expect(text.contains("  refused: mounted read-only, with -o ro\n"), "\(text)")
                try await container.dewpoint(["evict", a.path("file")])
                #expect(try await a.downloadingStatus("file") == .notDownloaded)
            }
        }

        /// Every change fails as on a read-only ext4.
        private static func refusesChanges(_ device: Device) async throws {
            let program = """
                import errno, os, sys
                os.chdir(sys.argv[1])
                name = next(name for name in os.listdir(".") if os.path.isfile(name))
                calls = [
                    lambda: os.open("new", os.O_CREAT | os.O_WRONLY), lambda: os.open(name, os.O_WRONLY),
                    lambda: os.mkdir("new"), lambda: os.unlink(name), lambda: os.rename(name, "new"),
                    lambda: os.chmod(name, 0o600), lambda: os.truncate(name, 0), lambda: os.utime(name),
                    lambda: os.setxattr(name, "user.dewpoint.pinned", b"1"), lambda: os.symlink("x", "new"),
                ]
                for call in calls:
                    try:
                        call()
                        print("no error")
                    except OSError as error:
                        print(errno.errorcode[error.errno])
                """
            let answers = try await Command.check([Requirement.python, "-c", program, device.point])
            #expect(answers == String(repeating: "EROFS\n", count: 10))
        }

        private static func status(_ device: Device) async throws -> ContainerStatus {
            struct Item: Decodable { let container: ContainerStatus }
            let text = try await device.container.dewpoint(["status", device.point, "--json"])
            return try #require(try JSONDecoder().decode([Item].self, from: Data(text.utf8)).first).container
        }

        private static func mount(_ device: Device) async throws -> Command.Said {
            try await run(
                device.container,
                ["mount", device.container.url, device.point, "--state", device.state, "--device-name", device.name])
        }

        private static func run(_ container: MountedContainer, _ arguments: [String]) async throws -> Command.Said {
            let result = try await Command.run(
                [container.binary] + arguments, limit: .seconds(60), environment: container.environment)
            return Command.Said(status: result.status, errors: result.errors)
        }
    }
}

extension Command {
    /// How a command ended, and what it said.
    fileprivate struct Said: Equatable {
        let status: Int32
        let errors: String
    }
}

/// Denies and permits writing in a directory: for root by a read-only mount, since root ignores modes.
private struct DirectoryLock {
    private let path: String

    init(_ path: String) { self.path = path }

    func prepare() async throws {
        if Requirement.root { try await Command.check(["mount", "--bind", path, path]) }
    }

    func close() async throws {
        try await Command.check(
            Requirement.root ? ["mount", "-o", "remount,ro,bind", path] : ["chmod", "-R", "a-w", path])
    }

    func open() async throws {
        try await Command.check(
            Requirement.root ? ["mount", "-o", "remount,rw,bind", path] : ["chmod", "-R", "u+w", path])
    }

    func remove() async throws {
        if Requirement.root { try await Command.check(["umount", "--lazy", path]) }
    }
}
