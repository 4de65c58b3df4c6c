import Foundation
import Testing

extension RealMount {
    @Suite("Crashes") struct Crashes {
        /// How often the daemon is killed under load; more often with `DEWPOINT_LONG`.
        private static let kills = Requirement.long ? 200 : 5

        @Test(.timeLimit(.minutes(60)))
        func `killing the daemon under load loses nothing that was fsynced`() async throws {
            try await MountedContainer.with(devices: []) { container in
                let limit = Duration.seconds(60 + Self.kills * 12)
                let printed = try await Command.check(
                    [
                        Requirement.python, Driver.path("crashes.py"), "--binary", container.binary, "--rounds",
                        "\(Self.kills)", "--seed", "\(UInt32.random(in: 0...UInt32.max))", "--work",
                        container.directory + "/crashes",
                    ] + (container.bucketURL.map { ["--url", $0 + "-crashes"] } ?? []), limit: limit,
                    environment: container.environment)
                print(printed, terminator: "")
            }
        }

        /// One in so many points: all with `DEWPOINT_LONG`.
        private static var shareOfPoints: Int { Requirement.long ? 1 : 24 }

        @Test(.needs("strace"), .timeLimit(.minutes(60)))
        func `killing a command that makes or changes keys leaves the old keys or the new ones`() async throws {
            try await MountedContainer.with(devices: []) { container in
                let printed = try await Command.check(
                    [
                        Requirement.python, Driver.path("key_crashes.py"), "--binary", container.binary, "--restore",
                        Requirement.sources + "/scripts/restore.py", "--share", "\(Self.shareOfPoints)", "--work",
                        container.directory + "/keys",
                    ], limit: Requirement.long ? .seconds(3000) : .seconds(240))
                print(printed, terminator: "")
                #expect(printed.contains("and nothing was lost"))
            }
        }

        @Test func `the next mount replaces the mount of a daemon that died`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                try await Command.script(#"echo text > "$1/f"; sync "$1/f""#, a.point)
                try a.crash()
                try await eventually("the daemon is gone") {
                    try await a.call("open", "new", "O_CREAT,O_WRONLY") == "ENOTCONN"
                }
                try await a.mount()
                #expect(try await Command.check(["cat", a.path("f")]) == "text\n")
                try await a.check()
            }
        }

        @Test func `a daemon that receives SIGTERM unmounts and exits`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                try await Command.script(#"echo text > "$1/f""#, a.point)
                let daemons = Leftovers.daemons(mentioning: a.state)
                try #require(daemons.count == 1)
                kill(daemons[0], SIGTERM)
                try await eventually("nothing is mounted any more") {
                    Leftovers.mountpoints(below: container.directory).isEmpty
                }
                try await eventually("the daemon is gone") {
                    Leftovers.daemons(mentioning: a.state).isEmpty
                }
                try await a.mount()
                #expect(try await Command.check(["cat", a.path("f")]) == "text\n")
            }
        }

        @Test func `unmounting while a program has a file open does not hang`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                try await Command.script(
                    #"cd "$1"; sleep 20 > open & "$2" unmount "$1" || true; kill $!"#, a.point, container.binary,
                    limit: .seconds(30), environment: container.environment)
            }
        }
    }
}
