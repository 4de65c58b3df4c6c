import ArgumentParser
import ControlClient
import Model

struct VersionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "versions", abstract: "Lists the versions of a file, or restores an earlier one.",
        discussion: """
            Conflict versions are kept until they are resolved, see `dewpoint help resolve`. Earlier versions are kept for 30 days after \
            they were replaced.
            """)

    @Argument(help: "A file in a mounted container.", completion: .file())
    var path: String

    @Option(help: "Restore the version with this id; the current one becomes an earlier version.")
    var restore: String?

    @Flag(help: "Print a JSON array.")
    var json = false

    func run() async throws {
        let place = try MountedPath(path)
        if let restore { try await place.withClient { try await $0.restoreVersion(place.path, id: restore) } }
        let versions = try await place.withClient { try await $0.versions(place.path) }
        if json { try JSONOutput.print(versions) } else { print(VersionTable.text(versions)) }
    }
}

/// The versions of a file for people, one per line.
///
///     ID         KIND     MADE                      SIZE     ON
///     current    current  2026-01-31T12:00:00Z      9.5 MiB  desk
enum VersionTable {
    static func text(_ versions: [ItemVersion]) -> String {
        TextTable.text(
            [["ID", "KIND", "MADE", "SIZE", "ON"]]
                + versions.map { version in
                    [
                        version.id, version.kind.rawValue, TextTable.seconds(version.date),
                        "\(ByteCount(version.size))",
                        version.computer ?? version.device.description,
                    ]
                })
    }
}
