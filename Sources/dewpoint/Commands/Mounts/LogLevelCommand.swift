import ArgumentParser
import ControlAPI
import Glibc
import Model

struct LogLevelCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log-level", abstract: "Shows or changes how much a mount's daemon logs, until it is unmounted.",
        usage: "dewpoint log-level [<mountpoint>] [<level>] [--json]",
        discussion: """
            LEVEL is \(LogLevelRequest.names.joined(separator: ", ")), or a number of syslog(3): 7 debug, 6 info, \
            5 notice, 4 warning, 3 error, 2 to 0 critical. At debug and trace, names of files are logged. For a lasting \
            level, mount with: -o log_level=LEVEL

            Without a mountpoint: the container that the current directory is in, or the only one that is mounted.

            dewpoint log-level /mnt/notes debug
            """)

    @Argument(help: ArgumentHelp("The mountpoint, or the level.", valueName: "mountpoint"), completion: .directory)
    var first: String?

    @Argument(
        help: ArgumentHelp("The new level; without it the present one is printed.", valueName: "level"),
        completion: .list(LogLevelRequest.names))
    var second: String?

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() async throws {
        let (mountpoint, level) = chosen
        if let level, !LogLevelRequest.isLevel(level) {
            throw CommandFailure(
                .usage, "a level is 0 to 7, or one of \(LogLevelRequest.names.joined(separator: ", ")), not \(level)")
        }
        let place = try MountedPath.mount(mountpoint)
        let now =
            if let level { try await place.send(LogLevelRequest(level: level)) } else {
                try await place.send(CurrentLogLevelRequest())
            }
        if json { try JSONOutput.print(now) } else { print(now.level) }
    }

    /// A single argument is a level if it can be one, or if it is no path; `./debug` is a directory.
    private var chosen: (mountpoint: String?, level: String?) {
        guard let first, second == nil else { return (first, second) }
        let isPath =
            first.utf8.contains(ItemPath.separator) || first == "." || first == ".." || access(first, F_OK) == 0
        return LogLevelRequest.isLevel(first) || !isPath ? (nil, first) : (first, nil)
    }
}
