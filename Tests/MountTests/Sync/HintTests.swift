import S3Server
import Testing

extension RealMount {
    /// The cases of `Drivers/hints.py`: devices in networks of their own tell each other of commits.
    @Suite("Hints", .needsNetworks, .enabled(if: S3Server.isAvailable, "there is no S3 server"))
    struct Hints {
        private func run(_ name: String, isEncrypted: Bool = TestStore.isEncrypted) async throws {
            try await MountedContainer.with(
                try await S3Server.shared, devices: [], isEncrypted: isEncrypted
            ) { container in
                try await Driver.run(
                    "hints.py", name, container.binary, container.url, container.directory,
                    environment: container.environment)
            }
        }

        @Test(arguments: [false, true])
        func `devices in one network hear each other, and a stranger's flood changes nothing`(
            isEncrypted: Bool
        ) async throws { try await run("devices_in_one_network", isEncrypted: isEncrypted) }

        @Test(arguments: [
            "devices_with_names", "devices_without_ipv4", "turned_off", "networks_that_come_and_go",
            "a_store_that_calls",
        ])
        func `devices hear those that name them, and a store that calls`(name: String) async throws {
            try await run(name)
        }
    }
}
