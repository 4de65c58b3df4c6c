import ArgumentParser
import Daemon
import Sealing

struct KeyRotateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate", abstract: "Seals what is written from now on with new keys.",
        discussion: "What is there stays as it is, and all devices can read both. Revoking a device does this as well.")

    @OptionGroup var place: KeyPlace

    func run() async throws {
        var keys = try await place.keys()
        try await keys.change { change throws(KeyringError) in change.rotate() }
        print("epoch \(keys.newest.epoch) begins")
    }
}
