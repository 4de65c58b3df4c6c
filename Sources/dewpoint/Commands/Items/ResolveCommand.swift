import ArgumentParser
import ControlClient

struct ResolveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resolve", abstract: "Ends a conflict: says which version of a file is kept.",
        discussion: """
            The others are no conflict versions any more, on any device; for 30 days they can be had as earlier versions where they were \
            current once. dewpoint versions PATH lists them.
            """)

    @Argument(help: "Files in mounted containers.", completion: .file())
    var paths: [String]

    @Option(help: "current, newest, or the id of a conflict version.")
    var keep: String

    func validate() throws {
        if paths.isEmpty { throw ValidationError("give at least one path") }
    }

    func run() async throws {
        try await CommandFailure.forEach(paths) { place in
            try await place.withClient { try await $0.resolve(place.path, keep: keep) }
        }
    }
}
