import Foundation
import Testing

extension RealMount {
    /// With `-o survive`, programs do not notice that their daemon is killed.
    @Suite(
        "Survival",
        .needsSupervisor
    )
    struct Survival {
        /// How often the daemon is killed in each scenario; more often with `DEWPOINT_LONG`.
        private static let kills = Requirement.long ? 40 : 5

        /// - Parameter seconds: Within how many a killed daemon counts as one that cannot go on.
        private func run(
            _ scenarios: String..., options: String = "survive", seconds: Int = 0, isUnmounted: Bool = false,
            program: (MountedContainer) throws -> String = \.binary
        ) async throws {
            try await MountedContainer.with(devices: []) { container in
                var container = container.surviving(seconds: seconds)
                container.binary = try program(container)
                let a = container.a
                try await a.mount(options: options)
                let status = try await container.dewpoint(["status", a.point])
                #expect(status.contains("the mount goes on when its daemon is killed"))
                let printed = try await Command.check(
                    [
                        Requirement.python, Driver.path("surviving.py"), "--binary", container.binary, "--point",
                        a.point, "--state", a.state, "--kills", "\(Self.kills)", "--seed",
                        "\(UInt32.random(in: 0...UInt32.max))",
                    ] + scenarios, limit: .seconds(120 + Self.kills * 20), environment: container.environment)
                print(printed, terminator: "")
                if isUnmounted { try await a.mount(options: options) }
                try await a.check()
                try await a.unmount()
            }
        }

        @Test(.timeLimit(.minutes(30)), arguments: ["survive", "survive,off=all"])
        func `open files go on`(options: String) async throws {
            try await run("open_files", "listing", options: options)
        }

        @Test(.timeLimit(.minutes(30)), arguments: ["survive", "survive,off=all"])
        func `files that are read from the store go on`(options: String) async throws {
            try await run("placeholders", options: options)
        }

        @Test(.timeLimit(.minutes(30)), arguments: ["survive", "survive,off=all"])
        func `names are made and removed once`(options: String) async throws {
            try await run("names", "nameless", options: options)
        }

        @Test(.timeLimit(.minutes(30)), arguments: ["survive", "survive,off=all"])
        func `appended bytes are appended once`(options: String) async throws {
            try await run("appending", options: options)
        }

        @Test(.timeLimit(.minutes(30))) func `locks stay with who holds them`() async throws { try await run("locks") }

        @Test(.timeLimit(.minutes(30)))
        func `claims stay with who comes back`() async throws { try await run("claims") }

        @Test(.timeLimit(.minutes(30)), arguments: ["survive", "survive,off=all"])
        func `databases, git and large writes go on`(options: String) async throws {
            try await run("databases", "programs", options: options)
        }

        @Test(.timeLimit(.minutes(30)))
        func `commands are answered by whichever daemon comes`() async throws { try await run("commands") }

        @Test func `the daemon goes on without its supervisor`() async throws {
            try await run("supervisor_killed", isUnmounted: true)
        }

        @Test func `the mount of a daemon that took the place of another is unmounted like any`() async throws {
            try await run("unmounting", isUnmounted: true)
        }

        @Test func `SIGTERM to the supervisor ends both`() async throws {
            try await run("terminating", isUnmounted: true)
        }

        @Test func `a daemon that is killed again and again is given up`() async throws {
            try await run("giving_up", seconds: 3600, isUnmounted: true)
        }

        @Test func `the installed program takes over a mount that is in use`() async throws {
            try await run("upgrading", seconds: 3600) { container in
                let directory = URL(filePath: container.directory).appending(path: "program")
                try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
                let copy = directory.appending(path: "dewpoint")
                try FileManager.default.copyItem(at: URL(filePath: container.binary), to: copy)
                return copy.path
            }
        }

        @Test func `a mount that ends with its daemon is not upgraded`() async throws {
            try await MountedContainer.with { container in
                let result = try await Command.run(
                    [container.binary, "upgrade", container.a.point], environment: container.environment)
                #expect(result.status == 64)
                #expect(
                    result.errors == """
                        dewpoint: the mount ends with its daemon, as it has no supervisor; unmount, and mount with -o survive

                        """)
                let all = try await Command.run(
                    [container.binary, "upgrade", "--all"], environment: container.environment)
                #expect(all.output.contains("\(container.a.point): goes over when it is mounted again"))
                try await container.a.check()
            }
        }

        @Test func `without a supervisor the mount is made, and says so`() async throws {
            try await MountedContainer.with(devices: []) { container in
                var container = container
                container.variables["DEWPOINT_SUPERVISOR_PROGRAM"] = "/nonexistent"
                let a = container.a
                try await a.mount(options: "survive")
                let status = try await container.dewpoint(["status", a.point])
                #expect(status.contains("the mount ends with its daemon"))
            }
        }
    }
}
