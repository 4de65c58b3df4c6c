import ArgumentParser
import ControlAPI
import ControlClient
import Foundation
import Model

struct MonitorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "monitor", abstract: "Shows events of an item, and of everything below it, as they happen.",
        discussion: """
            Prints one line per event until the container is unmounted, or until Control-C. The first line is "following": no event \
            after it is missed.
            """)

    @Argument(help: "An item in a mounted container, or a mountpoint.", completion: .file())
    var path: String

    @Flag(help: "Print one JSON object per line.")
    var json = false

    func run() async throws {
        // Every line is flushed when it is printed, so there is nothing to do at the end.
        signal(SIGINT) { _ in _exit(0) }
        let place = try MountedPath(path)
        try await place.withClient { client in
            for try await news in try await client.events(place.path) {
                let line =
                    json ? String(decoding: try ControlJSON.encode(news), as: UTF8.self).printableJSON : Self.text(news)
                do {
                    try FileHandle.standardOutput.write(contentsOf: Data("\(line)\n".utf8))
                } catch {
                    return  // the reader has closed the pipe
                }
            }
        }
    }

    /// `2026-01-31 12:00:00  moved  b.txt  from a.txt  by mv(812)`
    static func text(_ news: ItemNews) -> String {
        var fields = [LocalTime.text(news.time), news.event.rawValue, news.path.isEmpty ? "." : news.path]
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
