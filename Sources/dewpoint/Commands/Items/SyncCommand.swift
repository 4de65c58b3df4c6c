import ArgumentParser
import ControlClient

struct SyncCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync", abstract: "Uploads and applies changes now.",
        discussion: "Without --wait the daemon is told and the command returns at once.")

    @Argument(help: "The mountpoint.", completion: .directory)
    var mountpoint: String

    @Flag(help: "Return when nothing is left to upload or apply.")
    var wait = false

    func run() async throws {
        try await MountedPath.mountpoint(mountpoint).withClient { try await $0.sync(wait: wait) }
    }
}
