import ArgumentParser
import ControlAPI

struct ConfirmCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "confirm",
        abstract: "Confirms held deletions of more than half of a container.",
        discussion:
            "`dewpoint status` shows whether deletions are held. With --discard, the items are restored instead.")

    @Argument(help: "The mountpoint.", completion: .directory)
    var mountpoint: String

    @Flag(help: "Discard the deletions and restore the items from the container.")
    var discard = false

    func run() async throws {
        try await MountedPath.mountpoint(mountpoint).send(DeletionsRequest(discard: discard))
    }
}
