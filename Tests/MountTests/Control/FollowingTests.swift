import Foundation
import Testing

extension RealMount {
    /// The cases of `Drivers/following.py`, which reads the lines of the control API without any code of Dewpoint.
    @Suite("Following items") struct Following {
        private func run(_ name: String, in container: MountedContainer, limit: Duration = .seconds(120)) async throws {
            try await Driver.run(
                "following.py", name, container.a.point, container.binary, container.b.point, limit: limit,
                environment: container.environment)
        }

        @Test(arguments: [
            "changes_by_programs", "changes_of_another_device", "refusals_and_versions",
            "a_program_waits_for_a_claim_of_a_declared_package",
        ])
        func `clients are told of every change, and of nothing else`(name: String) async throws {
            try await MountedContainer.with(devices: ["A", "B"]) { container in
                try await run(name, in: container)
                for device in [container.a, container.b] {
                    try await device.confirmDeletions()
                    try await device.sync()
                    try await device.check()
                }
            }
        }

        @Test func `a client that does not read is disconnected, and others are served`() async throws {
            try await MountedContainer.with(devices: ["A", "B"]) { container in
                // It makes tens of thousands of changes.
                try await run("a_client_that_does_not_read_is_disconnected", in: container, limit: .seconds(400))
            }
        }

        @Test func `a slow download is told as it advances`() async throws {
            try await MountedContainer.with(devices: ["A", "B"], options: "link_down=2048") { container in
                try await run("a_slow_download_advances", in: container)
            }
        }
    }
}
