import ArgumentParser
import ControlAPI
import ControlClient
import Foundation
import Model

struct MonitorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "monitor", abstract: "Tells what happens to an item and to everything below it, as it happens.",
        discussion: """
            One line for each event, until the container is unmounted or Control-C. The first line says "following": from there on nothing \
            is missed.
            """)

    @Argument(help: "An item in a mounted container, or the mountpoint.", completion: .file())
    var path: String

    @Flag(help: "Print each event as a line of JSON.")
    var json = false

    func run() async throws {
        // Every line is out when it is printed, so there is nothing to do at the end.
        signal(SIGINT) { _ in _exit(0) }
        let place = try MountedPath(path)
        try await place.withClient { client in
            for try await news in try await client.events(place.path) {
                let line =
                    json ? String(decoding: try ControlJSON.encode(news), as: UTF8.self).printableJSON : Self.text(news)
                do {
                    try FileHandle.standardOutput.write(contentsOf: Data("\(line)\n".utf8))
                } catch {
                    return  // nobody reads on
                }
            }
        }
    }

    /// `2026-01-31T12:00:00Z  moved  b.txt  from a.txt  by mv(812)`
    static func text(_ news: ItemNews) -> String {
        var fields = [TextTable.seconds(news.time), news.event.rawValue, news.path.isEmpty ? "." : news.path]
        if let from = news.from { fields.append("from \(from)") }
        if let keys = news.keys { fields.append(keys.joined(separator: " ")) }
        if let version = news.version { fields.append("version \(version)") }
        if let origin = news.origin {
            fields.append("by \(origin)\(news.process.map { "(\($0))" } ?? "")")
        } else if let process = news.process {
            fields.append("by process \(process)")
        }
        return fields.map(\.printable).joined(separator: "  ")
    }
}
