import ArgumentParser
import Daemon
import Foundation
import Model

struct ResetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reset",
        abstract: "Sets the state of an unmounted container aside, so that the next mount builds a new one.",
        discussion: """
            The state directory is renamed to NAME.backup-TIME and keeps its local files, in NAME.backup-TIME/files: also those that \
            are never synced. The next mount is a new device with no local bytes. Remove the backup when nothing is missing; to \
            return to it, unmount, remove the new state, and give the backup its old name.

            dewpoint unmount /mnt/notes
            dewpoint reset /mnt/notes
            dewpoint mount file:///srv/cloud/Notes /mnt/notes
            """)

    @Argument(
        help: "Where the container was last mounted, if its state is in the default place.", completion: .directory)
    var mountpoint: String?

    @Option(help: "The state directory.", completion: .directory)
    var state: String?

    @Flag(help: "Also if there are changes that are not uploaded; they stay in the backup only.")
    var discardChanges = false

    @Flag(help: "Print a JSON object.")
    var json = false

    private struct Report: Encodable {
        var state: String
        var backup: String
    }

    func validate() throws {
        guard (mountpoint == nil) != (state == nil) else {
            throw ValidationError("give a mountpoint or --state, and not both")
        }
    }

    func run() throws {
        let place = try place()
        let backup = try place.reset(discardingChanges: discardChanges)
        if json { return try JSONOutput.print(Report(state: place.path, backup: backup.path)) }
        print("\(place.path) is now \(backup.path); the next mount builds a new state".printable)
    }

    private func place() throws -> StateDirectory {
        if let state { return try StateDirectory(given: state, resolved: try MountedPath.absolute(state)) }
        let given = mountpoint ?? ""
        let absolute = try MountedPath.absolute(given)
        if MountTable.current().containers.contains(where: { $0.mountpoint.isBytewiseEqual(to: absolute) }) {
            throw CommandFailure(.busy, "\(given) is mounted; unmount it first: dewpoint unmount \(given)")
        }
        return try StateDirectory.lastMounted(at: absolute, orNamedBy: "dewpoint reset")
    }
}
