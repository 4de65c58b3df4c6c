import ArgumentParser
import ControlAPI
import Model

struct ConflictsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "conflicts",
        abstract: "Lists the files with conflict versions, of one directory or of all mounted containers.",
        discussion: """
            To see what differs, use `dewpoint versions FILE --diff ID`; to choose a version, `dewpoint resolve FILE --keep ID`.
            """)

    @Argument(help: "An item in a mounted container; everything below it is included.", completion: .file())
    var path: String?

    @Flag(help: "Print a JSON array.")
    var json = false

    func run() async throws {
        var items: [ConflictedItem] = []
        for place in try places() {
            let found = try await place.send(ConflictsRequest())
            items += found.filter { Self.isInside($0.path, place.path) }.map {
                ConflictedItem(path: "\(place.mount.mountpoint)/\($0.path)", versions: $0.versions)
            }
        }
        if json { return try JSONOutput.print(items) }
        print(items.isEmpty ? "no conflicts" : Self.text(items))
    }

    private func places() throws -> [MountedPath] {
        if let path { return [try MountedPath(path)] }
        return try MountTable.current().containers.filter { MountCondition.foreign($0) == nil }
            .map { try MountedPath($0.mountpoint) }
    }

    /// Bytes are compared: a `String` treats differently composed names as equal.
    static func isInside(_ path: String, _ top: String) -> Bool {
        top.isEmpty || path.utf8.elementsEqual(top.utf8) || path.utf8.starts(with: "\(top)/".utf8)
    }

    /// The versions of each file, one per line.
    ///
    ///     ID       KIND      MADE                 SIZE     ON    PATH
    ///     current  current   2026-01-31 12:00:00  9.5 MiB  desk  /mnt/notes/a.txt
    static func text(_ items: [ConflictedItem], width: Int? = Terminal.width()) -> String {
        TextTable.text(
            [["ID", "KIND", "MADE", "SIZE", "ON", "PATH"]]
                + items.flatMap { item in
                    item.versions.map { VersionTable.row($0) + [item.path] }
                }, width: width)
    }
}
