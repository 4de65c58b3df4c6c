import ArgumentParser
import ControlAPI
import ControlClient

struct SyncCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync", abstract: "Uploads local changes and applies remote ones now.",
        discussion: "Without --wait, the command returns at once and the daemon works in the background.")

    @Argument(
        help: "The mountpoint. (default: that of the current directory, or the only one)", completion: .directory)
    var mountpoint: String?

    @Flag(help: "Wait until nothing is left to upload or apply, with a progress bar on a terminal.")
    var wait = false

    func run() async throws {
        let place = try MountedPath.mount(mountpoint)
        try await place.withClient { client in
            if wait { try await UploadWait(place).run(client) } else { try await client.send(SyncRequest(wait: false)) }
        }
    }
}
