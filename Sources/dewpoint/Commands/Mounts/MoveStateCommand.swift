import ArgumentParser
import Daemon
import Foundation
import Model

struct MoveStateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "move-state", abstract: "Moves the state of an unmounted container, also to another disk.",
        discussion: """
            A state that was copied by other means is refused by mount: two states of one device would take each other's changes for their own. \
            A move that was cut off is started again with the same arguments; mount says which of the two places holds the state.

            dewpoint move-state ~/.local/state/dewpoint/iCloud.com.example.Notes /mnt/large/notes-state
            dewpoint mount file:///srv/cloud/Notes /mnt/notes --state /mnt/large/notes-state
            """)

    @Argument(help: "The state: what was given as --state, else $XDG_STATE_HOME/dewpoint/ID.", completion: .directory)
    var old: String

    @Argument(help: "Where it goes: a new directory, or an empty one.", completion: .directory)
    var new: String

    func run() throws {
        let place = try StatePlace(given: new, resolved: try MountedPath.absolute(new))
        try StatePlace(given: old, resolved: try MountedPath.absolute(old)).move(to: place)
        print("the state is in \(place.path) now; mount with: --state \(place.path)".printable)
    }
}
