import ArgumentParser
import ControlAPI
import Foundation
import Model

struct PinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pin", abstract: "Keeps items downloaded; for a directory, everything in it.",
        discussion: """
            What is pinned is a setting of this device. To save the pins of one mount and set them again, on another device say:

            dewpoint pin --list --null ~/Work > pins
            cd ~/Work; xargs --null dewpoint pin < pins
            """)

    @Argument(help: "Items in mounted containers; with --list, one item, and everything below it.", completion: .file())
    var paths: [String] = []

    @Flag(
        help:
            "List what is pinned, a path on a line. (default: in the container of the current directory, or the only one)"
    )
    var list = false

    @Flag(help: "With --list: end each path with a zero byte, and print them relative to the mountpoint.")
    var null = false

    @Flag(help: "With --list: print a JSON array, also of what was unpinned in a pinned directory.")
    var json = false

    func validate() throws {
        if list {
            if paths.count > 1 { throw ValidationError("--list takes one path") }
            if null, json { throw ValidationError("give either --null or --json") }
            return
        }
        if null || json { throw ValidationError("--null and --json are for --list") }
        if paths.isEmpty { throw ValidationError("give at least one path") }
    }

    func run() async throws {
        if list { return try await printPins() }
        try await CommandFailure.forEach(paths) { place in
            try await place.send(PinRequest(path: place.path, pinned: true))
        }
    }

    private func printPins() async throws {
        let place = try paths.first.map { try MountedPath($0) } ?? MountedPath.likeliest()
        let pins = try await place.send(PinsRequest())
            .filter { ConflictsCommand.isInside($0.path, place.path) }
        if json { return try JSONOutput.print(pins) }
        let pinned = pins.filter(\.pinned).map(\.path)
        if null {
            let text = pinned.map { ($0.isEmpty ? "." : "./\($0)") + "\0" }.joined()
            return try FileHandle.standardOutput.write(contentsOf: Data(text.utf8))
        }
        if pinned.isEmpty { return print("nothing is pinned") }
        for path in pinned {
            print((path.isEmpty ? place.mount.mountpoint : "\(place.mount.mountpoint)/\(path)").printable)
        }
    }
}
