import ArgumentParser
import ControlClient

struct SyncCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync", abstract: "Uploads local changes and applies remote ones now.",
        discussion: "Without --wait, the command returns at once and the daemon works in the background.")

    @Argument(help: "The mountpoint.", completion: .directory)
    var mountpoint: String

    @Flag(help: "Wait until nothing is left to upload or apply.")
    var wait = false

    func run() async throws {
        try await MountedPath.mountpoint(mountpoint).withClient { try await $0.sync(wait: wait) }
    }
}
