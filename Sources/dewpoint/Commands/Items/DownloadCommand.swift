import ArgumentParser
import ControlAPI
import ControlClient
import Foundation
import Model

struct DownloadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "download", abstract: "Downloads items; for a directory, everything in it.")

    @Argument(help: "Items in mounted containers.", completion: .file())
    var paths: [String]

    @Flag(help: "Wait until the items are downloaded, with a progress bar on a terminal.")
    var wait = false

    @Flag(help: "Cancel a running download; the next one continues where it stopped.")
    var cancel = false

    @Flag(help: "Show how many files and bytes would be downloaded.")
    var dryRun = false

    @Flag(help: "With --dry-run: print a JSON array.")
    var json = false

    func validate() throws {
        if paths.isEmpty { throw ValidationError("give at least one path") }
        if dryRun && (cancel || wait) { throw ValidationError("--dry-run cannot be used with --cancel or --wait") }
        if json && !dryRun { throw ValidationError("--json is only for --dry-run") }
        if cancel && wait { throw ValidationError("--cancel cannot be used with --wait") }
    }

    func run() async throws {
        if dryRun { return try await reportMissing() }
        if cancel {
            try await CommandFailure.forEach(paths) { place in
                try await place.send(CancelDownloadRequest(path: place.path))
            }
            return
        }
        // All downloads are requested before the first is waited for.
        try await CommandFailure.forEach(paths) { place in
            try await place.send(DownloadRequest(path: place.path, wait: false))
        }
        guard wait else { return }
        try await CommandFailure.forEach(paths) { place in
            try await place.withClient { try await follow(place, $0) }
        }
    }

    /// What a download of a path would take.
    private struct Missing: Encodable {
        var path: String
        var fileCount: Int
        var byteCount: Int64

        var text: String {
            "\(path.printable): \(fileCount) \(fileCount == 1 ? "file" : "files"), \(ByteCount(byteCount))"
        }
    }

    private func reportMissing() async throws {
        var found: [Missing] = []
        // What was found is printed although other paths fail.
        defer { if json { try? JSONOutput.print(found) } }
        try await CommandFailure.forEach(paths) { place in
            let progress = try await place.send(DownloadProgressRequest(path: place.path))
            let missing = Missing(
                path: place.given, fileCount: progress.filesTotal - progress.filesDone,
                byteCount: progress.bytesTotal - progress.bytesDone)
            if json { found.append(missing) } else { print(missing.text) }
        }
    }

    private func follow(_ place: MountedPath, _ client: ControlClient) async throws {
        let path = place.path
        try await ProgressDisplay.during(place.given, noun: "file") {
            try await client.send(DownloadRequest(path: path, wait: true))
        } progress: {
            try await client.send(DownloadProgressRequest(path: path))
        }
    }
}
