import ControlAPI
import Foundation
import HostilePeers
import Testing

extension RealMount {
    /// One user who tries to take all of a daemon, and others who go on working.
    @Suite("Hostile clients") struct HostileClients {
        private func descriptors(_ daemon: pid_t) throws -> Int { try listing("/proc/\(daemon)/fd").count }

        /// Runs clients of every kind of the generator against a server, beside an honest one.
        private func attack(_ address: String, _ target: String, count: Int) async throws {
            let seed = UInt32.random(in: 0...9999)
            try await Command.check(
                [
                    Requirement.python, HostilePeers.HostileServer.script, "attack", address, "\(seed)", "\(count)",
                    target,
                ],
                limit: .seconds(180))
        }

        @Test func `clients that drip, rest or read nothing keep no connection of the control socket`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                let daemon = try #require(Leftovers.daemons(mentioning: a.state).first)
                let socket = try #require(
                    ControlSocket.find(mountpoint: a.point, environment: container.environment, owner: geteuid()))
                let before = try descriptors(daemon)
                try await attack(socket.path, "/v1/status", count: 200)
                try await eventually("its descriptors are free again") { try descriptors(daemon) <= before + 4 }
                try await a.sync()
            }
        }

        @Test(.needsRoot(to: "change the limits of another process"))
        func `no more clients connect than the descriptors allow, and files can be opened beside them`() async throws {
            try await MountedContainer.with { container in
                let a = container.a
                let daemon = try #require(Leftovers.daemons(mentioning: a.state).first)
                try await a.unmount()
                // The limit is read when the daemon begins to listen.
                try await Command.script(
                    #"ulimit -n 400; exec setpriv --bounding-set=-sys_resource --inh-caps=-sys_resource "$@""#,
                    container.binary, "mount", container.url, a.point, "--state", a.state, "--device-name", a.name,
                    environment: container.environment)
                _ = daemon
                let socket = try #require(
                    ControlSocket.find(mountpoint: a.point, environment: container.environment, owner: geteuid()))
                try await Command.script(
                    #"""
                    exec python3 - "$1" "$2" <<'END'
                    import os, socket, sys
                    held = []
                    for _ in range(500):
                        connection = socket.socket(socket.AF_UNIX)
                        connection.settimeout(0.2)
                        try:
                            connection.connect(sys.argv[1])
                        except (BlockingIOError, TimeoutError):
                            break
                        held.append(connection)
                    assert len(held) > 50, len(held)
                    for number in range(40):
                        held.append(open(f"{sys.argv[2]}/{number}", "w"))
                    END
                    """#, socket.path, a.point)
                try await a.sync()
            }
        }

        @Test func `clients that drip, rest or read nothing keep nobody from the port of the metrics`() async throws {
            try await MountedContainer.with(devices: []) { container in
                let port = FreePort.random()
                try await container.a.mount(options: "metrics_port=\(port)")
                try await attack("\(port)", "/healthz", count: 51)
            }
        }

        /// The attacks of `crowd.py`.
        @Test(
            .needsRoot(to: "act as other users"),
            arguments: [
                "files", "creations", "directories", "locks", "waits", "names", "attributes", "transfers",
                "connections",
            ])
        func `a user cannot make another's call fail`(attack: String) async throws {
            try await MountedContainer.with(devices: []) { container in
                let a = container.a
                let port = FreePort.random()
                try await a.mount(options: "allow_other,metrics_port=\(port)")
                let daemon = try #require(Leftovers.daemons(mentioning: a.state).first)
                try await Driver.run(
                    "crowd.py", attack, a.point, "\(daemon)", container.binary, "\(port)",
                    environment: container.environment)
                try await a.check()
            }
        }
    }
}
