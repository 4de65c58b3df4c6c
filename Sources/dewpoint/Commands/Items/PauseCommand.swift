import ArgumentParser
import ControlAPI

struct PauseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause", abstract: "Pauses the syncing of items, or of a whole container.",
        discussion: """
            Local changes are not uploaded, and of remote changes only names and attributes are applied; for a whole \
            container, nothing is synced. Local access is not affected. `dewpoint resume` ends the pause.
            """)

    @Argument(help: "Items in mounted containers, or mountpoints.", completion: .file())
    var paths: [String]

    func validate() throws {
        if paths.isEmpty { throw ValidationError("give at least one path") }
    }

    func run() async throws {
        try await CommandFailure.forEach(paths) { place in
            try await place.send(PauseRequest(path: place.path, paused: true))
        }
    }
}
