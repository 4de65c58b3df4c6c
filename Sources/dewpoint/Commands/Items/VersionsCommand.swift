import ArgumentParser
import ControlAPI
import Foundation
import Model

struct VersionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "versions",
        abstract: "Lists the versions of a file, restores an earlier one, saves or compares one.",
        discussion: """
            Conflict versions are kept until they are resolved, see `dewpoint help resolve`. Earlier versions are kept for 30 days after \
            they were replaced.

            --diff runs `diff -u` on the version and the current bytes, and exits with its status: 0 equal, 1 different, 2 trouble.
            """)

    @Argument(help: "A file in a mounted container.", completion: .file())
    var path: String

    @Argument(help: "With --save: where to write the bytes of the version; - is standard output.", completion: .file())
    var file: String?

    @Option(help: ArgumentHelp("Restore the version; the current one becomes an earlier version.", valueName: "id"))
    var restore: String?

    @Option(help: ArgumentHelp("Write the bytes of the version to FILE.", valueName: "id"))
    var save: String?

    @Option(help: ArgumentHelp("Show how the current bytes differ from the version.", valueName: "id"))
    var diff: String?

    @Flag(help: "With --save: replace FILE if it exists.")
    var force = false

    @Flag(help: "Print a JSON array.")
    var json = false

    func validate() throws {
        let choices = [("--restore", restore), ("--save", save), ("--diff", diff)].filter { $0.1 != nil }.map(\.0)
        if choices.count > 1 { throw ValidationError("\(choices[0]) cannot be used with \(choices[1])") }
        if save != nil, file == nil {
            throw ValidationError("--save needs a file to write to, or - for standard output, after the path")
        }
        if save == nil, file != nil { throw ValidationError("a second path is only for --save; give one file") }
        if save == nil, force { throw ValidationError("--force is only for --save") }
        if json, save != nil || diff != nil { throw ValidationError("--json cannot be used with \(choices[0])") }
    }

    func run() async throws {
        let place = try MountedPath(path)
        if let save, let file { return try VersionFile(place: place, id: save).write(to: file, replacing: force) }
        if let diff { throw ExitCode(try await VersionFile(place: place, id: diff).difference()) }
        if let restore {
            try await place.send(RestoreVersionRequest(path: place.path, id: restore))
        }
        let versions = try await place.send(VersionsRequest(path: place.path))
        if json { try JSONOutput.print(versions) } else { print(VersionTable.text(versions)) }
    }
}

/// The versions of a file for people, one per line.
///
///     ID         KIND     MADE                 SIZE     ON
///     current    current  2026-01-31 12:00:00  9.5 MiB  desk
enum VersionTable {
    static func text(_ versions: [ItemVersion]) -> String {
        TextTable.text([["ID", "KIND", "MADE", "SIZE", "ON"]] + versions.map(row))
    }

    static func row(_ version: ItemVersion) -> [String] {
        [
            version.id, version.kind.rawValue, LocalTime.text(version.date), "\(ByteCount(version.size))",
            version.computer ?? version.device.description,
        ]
    }
}
