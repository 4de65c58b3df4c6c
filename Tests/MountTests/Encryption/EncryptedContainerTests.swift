/// Tests that begin with an encrypted container, and open it as a person or another device would.
protocol EncryptedContainerTests {}

extension EncryptedContainerTests {
    /// One device A, and the other names unused: each test mounts what it needs.
    func with(
        devices: [String] = ["A"], _ body: (MountedContainer) async throws -> Void
    ) async throws {
        try await MountedContainer.with(devices: devices, isEncrypted: true, body)
    }

    /// Runs the program without the passphrase in its environment, and without other states of this user.
    func alone(
        _ container: MountedContainer, _ arguments: [String], _ variables: [String: String] = [:]
    ) async throws -> Command {
        var other = container
        other.passphrase = nil
        let home = ["XDG_STATE_HOME": container.directory + "/other-home"]
        return try await Command.run(
            ["setsid", "--wait", container.binary] + arguments, limit: .seconds(60),
            environment: other.environment.merging(home) { $1 }.merging(variables) { $1 })
    }

    func mount(_ device: Device) -> [String] {
        ["mount", device.container.url, device.point, "--state", device.state, "--device-name", device.name]
    }
}
