import ArgumentParser
import ControlClient

struct PauseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause", abstract: "Pauses the syncing of items, or of a whole container.",
        discussion: """
            Changes made here wait, and of other devices' edits only names and attributes come. Of a whole container nothing comes \
            or goes. Everything works on here. dewpoint resume ends it.
            """)

    @Argument(help: "Items in mounted containers, or mountpoints.", completion: .file())
    var paths: [String]

    func validate() throws {
        if paths.isEmpty { throw ValidationError("give at least one path") }
    }

    func run() async throws {
        try await CommandFailure.forEach(paths) { place in
            try await place.withClient { try await $0.setPaused(place.path, true) }
        }
    }
}
