import ArgumentParser
import Daemon
import Foundation
import Model
import NamedMounts

struct AddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Records a mount under a name, for `dewpoint mount NAME`.",
        discussion: """
            dewpoint add work s3://my-notes/work ~/Work --endpoint https://s3.example.com --autostart
            dewpoint mount work

            Nothing is mounted or asked of the store yet. The mounts are in $XDG_CONFIG_HOME/dewpoint/mounts.toml (by default in \
            ~/.config; of root, /etc/dewpoint/mounts.toml), which `dewpoint edit` opens.

            --ignore keeps new files and directories whose names match a pattern of gitignore(5) on this machine. Worth a thought for \
            programmers: --ignore node_modules/ --ignore target/ --ignore __pycache__/. What is synced already stays synced.
            """)

    @Argument(help: "The name: letters, digits, . _ and -, at most \(MountName.lengthLimit).")
    var name: String

    @Argument(help: "The container URL, as passed to `dewpoint container create`.")
    var url: String

    @Argument(
        help: "The directory to mount it on. If it is missing, it is created when it is mounted on.",
        completion: .directory)
    var mountpoint: String

    @OptionGroup var bucket: BucketOptions

    @Option(
        help: ArgumentHelp("The state directory; see: dewpoint help mount.", valueName: "dir"),
        completion: .directory)
    var state: String?

    @Option(help: "The device name that other devices see. (default: the host name)")
    var deviceName: String?

    @Option(
        name: .customShort("o"), help: ArgumentHelp("Mount options; see: dewpoint help mount.", valueName: "options"))
    var options: [String] = []

    @Option(help: ArgumentHelp("Names that stay on this machine. Can be repeated.", valueName: "pattern"))
    var ignore: [String] = []

    @Flag(inversion: .prefixedNo, help: "Mount it at each login; of root, when the machine starts.")
    var autostart = false

    @Flag(help: "Print the mount as JSON.")
    var json = false

    func run() async throws {
        let mount = try mount()
        let file = MountsFile(.current())
        try file.change { document throws in
            try NamedMountLookup.checkSyntax(of: document, file)
            return try document.adding(mount)
        }
        var notes = ["mount it with: dewpoint mount \(name)"]
        if autostart { notes.append(await SystemdUnit(mount.name).enable()) }
        if json {
            try JSONOutput.print(ListedMount(mount, .current()))
            for note in notes.dropFirst() { CommandFailure.say(note) }
        } else {
            notes[0] = "\(name) is in \(file.path); \(notes[0])"
            for line in notes.joined(separator: "\n").split(separator: "\n") { print(String(line).printable) }
        }
    }

    private func mount() throws -> NamedMount {
        let surroundings = MountSurroundings.current()
        let name = try MountName(name)
        let place = try MountedPath.absolute(surroundings.absolute(mountpoint))
        var isDirectory: ObjCBool = false
        // A mountpoint of ours is a directory; a dead one would not answer.
        if MountTable.current().mount(at: place) == nil,
            FileManager.default.fileExists(atPath: place, isDirectory: &isDirectory), !isDirectory.boolValue
        {
            throw CommandFailure(.usage, "\(place) is not a directory; a container is mounted on a directory")
        }
        var mount = NamedMount(name: name, url: url, mountpoint: Self.recorded(mountpoint, as: place))
        mount.endpoint = bucket.endpoint
        mount.region = bucket.region
        mount.deviceName = deviceName
        if let state {
            let given = surroundings.absolute(state)
            let resolved = try MountedPath.absolute(given)
            mount.state = Self.recorded(state, as: try StateDirectory(given: given, resolved: resolved).path)
        }
        mount.options = options
        mount.ignore = ignore
        mount.autostart = autostart
        return mount
    }

    /// A path as the file has it: one below the home directory stays one if the shell has left it alone.
    private static func recorded(_ given: String, as place: String) -> String {
        given == "~" || given.hasPrefix("~/") ? given : place
    }
}
