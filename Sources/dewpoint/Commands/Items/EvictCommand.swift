import ArgumentParser
import ControlClient

struct EvictCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "evict",
        abstract: "Removes the local copy of items; they stay listed, and are downloaded again when read.")

    @Argument(help: "Items in mounted containers.", completion: .file())
    var paths: [String]

    func validate() throws {
        if paths.isEmpty { throw ValidationError("give at least one path") }
    }

    func run() async throws {
        try await CommandFailure.forEach(paths) { place in
            try await place.withClient { try await $0.evict(place.path) }
        }
    }
}
