import ArgumentParser
import ControlAPI
import Model

struct LinkShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Shows the conditions of the link.")

    @Argument(help: "The mountpoint. (default: that of the current directory, or the only one)", completion: .directory)
    var mountpoint: String?

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() async throws {
        try LinkCommand.show(try await MountedPath.mount(mountpoint).send(CurrentLinkRequest()), json: json)
    }
}
