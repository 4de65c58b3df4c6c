import ArgumentParser
import ControlAPI
import ControlClient
import Foundation
import MetadataPredicate
import Model

struct QueryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "query", abstract: "Shows the items below a directory that match a predicate.",
        discussion: """
            dewpoint query 'kMDItemFSName LIKE[c] "*.pdf" AND kMDItemFSSize > 1000000' Documents
            dewpoint query --live NSMetadataUbiquitousItemIsDownloadingKey=YES

            The predicate is in the format of Apple's NSPredicate. Nothing is downloaded. Attributes:
            \(ItemAttribute.inQueries.compactMap(\.metadataKey).map { "  \($0)" }.joined(separator: "\n"))
            """)

    @Argument(help: "A predicate; TRUEPREDICATE for all items.")
    var predicate: String

    @Argument(help: "A directory in a mounted container.", completion: .directory)
    var path = "."

    @Flag(help: "Print changes too, until the container is unmounted, or until Control-C.")
    var live = false

    @Flag(help: "Print a JSON array of attributes; with --live, one JSON object per line.")
    var json = false

    func run() async throws {
        let predicate = try Self.parse(predicate)
        if live { signal(SIGINT) { _ in _exit(0) } }
        let place = try MountedPath(path)
        let socket = try MountedPath.socket(of: place.mount)
        var matches = QueryMatches(predicate, place: place, containerName: try await containerName(of: place))
        var found: [QueryMatches.Event] = []
        for try await update in ItemFollower.updates(socketPath: socket.path, path: place.path) {
            let events = matches.apply(update)
            if live {
                for event in events { guard try printLine(event) else { return } }
            } else if case .gathered = update {
                return try printAll(found)
            } else {
                found += events
            }
        }
    }

    private func containerName(of place: MountedPath) async throws -> String {
        try await place.send(ContainerStatusRequest()).name
    }

    /// - Throws: ``ExitStatus/usage``, with the position marked below the predicate.
    static func parse(_ format: String) throws(CommandFailure) -> MetadataPredicate {
        let predicate: MetadataPredicate
        do throws(PredicateFormatError) {
            predicate = try MetadataPredicate(format: format)
        } catch {
            throw failure(format, at: error.offset, error.sentence)
        }
        for key in predicate.keys where ItemAttribute(metadataKey: key.name) == nil {
            throw failure(format, at: key.offset, "unknown attribute \"\(key.name)\"; see: dewpoint help query")
        }
        return predicate
    }

    private static func failure(_ format: String, at offset: Int, _ sentence: String) -> CommandFailure {
        let before = String(String.UnicodeScalarView(format.unicodeScalars.prefix(offset)))
        let mark = String(repeating: " ", count: before.printable.count) + "^"
        return CommandFailure(.usage, "predicate, character \(offset + 1): \(sentence)", log: [format, mark])
    }

    private func printAll(_ found: [QueryMatches.Event]) throws {
        if json {
            let objects = found.map { $0.attributes.mapValues(\.object) }
            print(try Self.text(objects, pretty: true))
        } else {
            for event in found { print(event.path.printable) }
        }
    }

    /// - Returns: `false` when the reader has closed the pipe.
    private func printLine(_ event: QueryMatches.Event) throws -> Bool {
        let line: String
        if json {
            var object: [String: Any] = ["event": event.kind.rawValue]
            if event.kind != .gathered { object["path"] = event.path }
            if !event.attributes.isEmpty { object["attributes"] = event.attributes.mapValues(\.object) }
            line = try Self.text(object, pretty: false)
        } else {
            line = [event.kind.rawValue, event.path].filter { !$0.isEmpty }.map(\.printable).joined(separator: "  ")
        }
        do {
            try FileHandle.standardOutput.write(contentsOf: Data("\(line)\n".utf8))
            return true
        } catch {
            return false
        }
    }

    private static func text(_ object: Any, pretty: Bool) throws -> String {
        let options: JSONSerialization.WritingOptions = [.sortedKeys, .withoutEscapingSlashes]
        let data = try JSONSerialization.data(
            withJSONObject: object, options: pretty ? options.union(.prettyPrinted) : options)
        return String(decoding: data, as: UTF8.self).printableJSON
    }
}

extension ItemAttribute.Value {
    /// As JSON: times in RFC 3339, URLs as text, errors as `{domain, code, text}`.
    fileprivate var object: Any {
        switch self {
        case .flag(let flag): flag
        case .integer(let number): number
        case .real(let number): number
        case .text(let text): text
        case .texts(let texts): texts
        case .time(let time): time.rfc3339
        case .file(let path, let isDirectory): URL(fileURLWithPath: path, isDirectory: isDirectory).absoluteString
        case .state(let state): state.metadataValue
        case .fault(let fault):
            ["domain": "NSCocoaErrorDomain", "code": fault.code, "text": fault.text] as [String: Any]
        }
    }
}
