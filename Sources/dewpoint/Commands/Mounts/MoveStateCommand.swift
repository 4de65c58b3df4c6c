import ArgumentParser
import Daemon
import Foundation
import Model

struct MoveStateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "move-state",
        abstract: "Moves the state directory of an unmounted container, even to another disk.",
        discussion: """
            Do not copy a state directory by other means: `dewpoint mount` refuses the copy, because two copies of one device would \
            overwrite each other's changes. To finish an interrupted move, run the same command again.

            dewpoint move-state ~/.local/state/dewpoint/iCloud.com.example.Notes /mnt/large/notes-state
            dewpoint mount file:///srv/cloud/Notes /mnt/notes --state /mnt/large/notes-state
            """)

    @Argument(
        help: "The state directory, as `dewpoint status` shows it of the mounted container.", completion: .directory)
    var old: String

    @Argument(help: "Its new path: a directory that does not exist, or is empty.", completion: .directory)
    var new: String

    @Flag(help: "Print a JSON object.")
    var json = false

    private struct Report: Encodable { var state: String }

    func run() throws {
        let place = try StateDirectory(given: new, resolved: try MountedPath.absolute(new))
        try StateDirectory(given: old, resolved: try MountedPath.absolute(old)).move(to: place)
        if json { return try JSONOutput.print(Report(state: place.path)) }
        print("the state directory is now \(place.path); mount with: --state \(place.path)".printable)
    }
}
