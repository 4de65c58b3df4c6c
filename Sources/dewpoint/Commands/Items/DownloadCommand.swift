import ArgumentParser
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

    func validate() throws {
        if paths.isEmpty { throw ValidationError("give at least one path") }
        if dryRun && (cancel || wait) { throw ValidationError("--dry-run cannot be used with --cancel or --wait") }
        if cancel && wait { throw ValidationError("--cancel cannot be used with --wait") }
    }

    func run() async throws {
        if dryRun { return try await reportMissing() }
        if cancel {
            try await CommandFailure.forEach(paths) { place in
                try await place.withClient { try await $0.cancelDownload(place.path) }
            }
            return
        }
        // All downloads are requested before the first is waited for.
        try await CommandFailure.forEach(paths) { place in
            try await place.withClient { try await $0.download(place.path, wait: false) }
        }
        guard wait else { return }
        try await CommandFailure.forEach(paths) { place in
            try await place.withClient { try await follow(place, $0) }
        }
    }

    private func reportMissing() async throws {
        try await CommandFailure.forEach(paths) { place in
            let progress = try await place.withClient { try await $0.downloadProgress(place.path) }
            let files = progress.filesTotal - progress.filesDone
            print(
                "\(place.given.printable): \(files) \(files == 1 ? "file" : "files"), \(ByteCount(progress.bytesTotal - progress.bytesDone))"
            )
        }
    }

    private func follow(_ place: MountedPath, _ client: ControlClient) async throws {
        let path = place.path
        try await ProgressDisplay.during(place.given, noun: "file") {
            try await client.download(path, wait: true)
        } progress: {
            try await client.downloadProgress(path)
        }
    }
}
