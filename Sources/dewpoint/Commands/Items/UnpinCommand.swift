import ArgumentParser
import ControlAPI

struct UnpinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "unpin", abstract: "Undoes `dewpoint pin`.")

    @Argument(help: "Items in mounted containers.", completion: .file())
    var paths: [String]

    func validate() throws {
        if paths.isEmpty { throw ValidationError("give at least one path") }
    }

    func run() async throws {
        try await CommandFailure.forEach(paths) { place in
            try await place.send(PinRequest(path: place.path, pinned: false))
        }
    }
}
