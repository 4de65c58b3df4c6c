import ArgumentParser
import ControlAPI
import ControlClient
import Foundation
import Model

struct TrashCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trash", abstract: "Lists items deleted in the last 30 days, and restores them.",
        subcommands: [List.self, Restore.self], defaultSubcommand: List.self)

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists deleted items, whichever device deleted them.")

        @Argument(
            help: "The mountpoint. (default: that of the current directory, or the only one)", completion: .directory)
        var mountpoint: String?

        @Flag(help: "Print a JSON array.")
        var json = false

        func run() async throws {
            let items = try await MountedPath.mount(mountpoint).withClient { try await $0.trash() }
            if json {
                var output = JSONArrayOutput<DeletedItem>()
                for try await item in items { try output.add(item) }
                return try output.end()
            }
            var table = TextTable.Growing(headings: ["DELETED", "SIZE", "ITEM", "PATH"])
            for try await item in items {
                table.add([
                    LocalTime.text(item.deleted), item.kind == .file ? "\(ByteCount(item.size))" : "-",
                    item.item.description, item.path + (item.kind == .directory ? "/" : ""),
                ])
            }
            if !table.end() { print("nothing was deleted in the last 30 days") }
        }
    }

    struct Restore: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Restores deleted items; a directory is restored with its contents.")

        @Argument(help: "Former paths of deleted items; with --item, one mountpoint.", completion: .file())
        var paths: [String]

        @Option(help: "The item id, if several items had the same path.")
        var item: String?

        @Flag(help: "Print a JSON object for each item, with its path now.")
        var json = false

        func run() async throws {
            if let item { return try await restore(item) }
            try await CommandFailure.forEach(paths) { place in
                try await place.withClient { client in
                    guard let found = try await client.trash().first(where: { $0.path.isBytewiseEqual(to: place.path) })
                    else {
                        throw CommandFailure(
                            .notFound, "\(place.given) is not a deleted item; see: dewpoint trash list")
                    }
                    try await restore(found.item, client, place)
                }
            }
        }

        private func restore(_ text: String) async throws {
            guard let uuid = UUID(uuidString: text), let path = paths.first, paths.count == 1 else {
                throw CommandFailure(
                    .usage, "--item needs an id, as printed by dewpoint trash list, and one mountpoint")
            }
            let place = try MountedPath(path)
            try await place.withClient { try await restore(ItemID(uuid: uuid), $0, place) }
        }

        private func restore(_ item: ItemID, _ client: ControlClient, _ place: MountedPath) async throws {
            let path = "\(place.mount.mountpoint)/\(try await client.send(RestoreDeletedRequest(item: item)).path)"
            if json { try JSONOutput.print(RestoredItem(path: path)) } else { print(path.printable) }
        }
    }
}
