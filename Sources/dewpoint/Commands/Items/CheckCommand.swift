import ArgumentParser
import ControlAPI
import Daemon
import Foundation
import Model

struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Checks that the index, the backing directory and the container agree.",
        discussion: """
            Prints one line per problem; the exit status is 65 if there is any. Unless --bytes is given, only the sizes of the packs in \
            the container are checked.
            """)

    @Argument(
        help: "The mountpoint. (default: that of the current directory, or the only one)", completion: .directory)
    var mountpoint: String?

    @Option(
        help: ArgumentHelp("The state directory of a container that is not mounted.", valueName: "dir"),
        completion: .directory)
    var state: String?

    @Flag(help: "Also download every byte that the files refer to, and verify it.")
    var bytes = false

    @Flag(help: "Print a JSON object with the problems.")
    var json = false

    func validate() throws {
        guard mountpoint == nil || state == nil else {
            throw ValidationError("give a mountpoint, or --state DIR of a container that is not mounted, not both")
        }
    }

    func run() async throws {
        let problems: [String]
        if let state {
            problems = try await OfflineCheck.run(
                try StateDirectory(given: state, resolved: try MountedPath.absolute(state)), readingBytes: bytes)
        } else {
            problems = try await MountedPath.mount(mountpoint).send(CheckRequest(bytes: bytes ? true : nil)).problems
        }
        if json {
            try JSONOutput.print(CheckReport(problems: problems))
        } else if problems.isEmpty {
            print("index, backing directory and container agree")
        } else {
            print(problems.map(\.printable).joined(separator: "\n"))
        }
        if problems.isEmpty { return }
        throw CommandFailure(
            .disagreement, "\(problems.count) \(problems.count == 1 ? "problem" : "problems") found")
    }
}
