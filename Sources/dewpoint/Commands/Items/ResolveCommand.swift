import ArgumentParser
import ControlAPI

struct ResolveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resolve", abstract: "Resolves a conflict by choosing the version of a file to keep.",
        discussion: """
            The other conflict versions are discarded on all devices. Those that were current once stay available as earlier versions for \
            30 days; `dewpoint versions PATH` lists them.
            """)

    @Argument(help: "Files in mounted containers.", completion: .file())
    var paths: [String]

    @Option(help: "The version to keep: current, newest, or the id of a conflict version.")
    var keep: String

    func validate() throws {
        if paths.isEmpty { throw ValidationError("give at least one path") }
    }

    func run() async throws {
        try await CommandFailure.forEach(paths) { place in
            try await place.send(ResolveRequest(path: place.path, keep: keep))
        }
    }
}
