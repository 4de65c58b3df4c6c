import ArgumentParser
import ControlAPI

struct ResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "resume", abstract: "Undoes `dewpoint pause`.")

    @Argument(help: "Items in mounted containers, or mountpoints.", completion: .file())
    var paths: [String]

    func validate() throws {
        if paths.isEmpty { throw ValidationError("give at least one path") }
    }

    func run() async throws {
        try await CommandFailure.forEach(paths) { place in
            try await place.send(PauseRequest(path: place.path, paused: false))
        }
    }
}
