import ArgumentParser
import ControlAPI
import Model

struct LinkClearCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clear",
        abstract: "Ends the conditions that were set; those of the mount's options apply again.")

    @Argument(help: "The mountpoint. (default: that of the current directory, or the only one)", completion: .directory)
    var mountpoint: String?

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() async throws {
        try LinkCommand.show(try await MountedPath.mount(mountpoint).send(LinkRequest(link: nil)), json: json)
    }
}
