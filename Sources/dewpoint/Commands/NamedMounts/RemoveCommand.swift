import ArgumentParser
import Daemon
import Foundation
import Model
import NamedMounts

struct RemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Removes the name of an unmounted mount.",
        discussion: """
            Only its lines in the mounts file are removed. The container and the state directory, with changes that are not uploaded \
            yet, stay as they are.
            """)

    @Argument(help: "The name, as printed by `dewpoint list`.", completion: MountCompletion.names)
    var name: String

    @Flag(help: "Print the removed mount as JSON.")
    var json = false

    func run() async throws {
        let name = try MountName(name)
        let surroundings = MountSurroundings.current()
        let file = MountsFile(surroundings)
        var removed: NamedMount?
        try file.change { document throws in
            try NamedMountLookup.checkSyntax(of: document, file)
            let isMentioned = document.problems.contains { $0.name == name.description }
            removed = document.mounts.first { $0.name == name }
            guard removed != nil || isMentioned else { throw NamedMountLookup.absence(of: name, in: document) }
            if let removed, surroundings.isMounted(removed) {
                throw CommandFailure(
                    .busy,
                    "\(name) is mounted at \(surroundings.mountpoint(of: removed)); unmount it first with: dewpoint "
                        + "unmount \(name)")
            }
            return try document.removing(name)
        }
        await SystemdUnit(name).disable()
        guard let removed else { return print("\(name) is no longer in \(file.path)".printable) }
        if json {
            try JSONOutput.print(ListedMount(removed, surroundings))
        } else {
            print("\(name) is no longer in \(file.path); \(Self.rest(of: removed, surroundings))".printable)
        }
    }

    /// What stays of a mount.
    private static func rest(of mount: NamedMount, _ surroundings: MountSurroundings) -> String {
        guard let state = statePath(of: mount, surroundings) else {
            return "the container \(mount.url) is unchanged"
        }
        return "the container \(mount.url) is unchanged, and its state stays in \(state)"
    }

    /// - Returns: `nil` if it was never mounted.
    private static func statePath(of mount: NamedMount, _ surroundings: MountSurroundings) -> String? {
        if let state = surroundings.state(of: mount) {
            return FileManager.default.fileExists(atPath: state) ? state : nil
        }
        // A location that is no longer valid has no known state.
        let location = try? ContainerLocation(url: mount.url, endpoint: mount.endpoint, region: mount.region)
            .resolved(state: nil, variables: surroundings.variables)
        return location.flatMap { StateDirectory.known($0, environment: surroundings.variables)?.path }
    }
}
