import ControlAPI
import ControlClient
import Foundation
import Model
import Synchronization

/// Waits until everything of a mount is uploaded and applied, with a progress bar on a terminal.
struct UploadWait {
    private let place: MountedPath

    /// What was to be uploaded since the wait began. It may grow meanwhile.
    struct State {
        private var progress = DownloadProgress(bytesDone: 0, bytesTotal: 0, filesDone: 0, filesTotal: 0)
        private var pendingBytes: Int64 = 0
        private var pendingCount = 0

        init() {}

        /// Takes the totals of now.
        mutating func add(_ uploads: TransferTotals) -> DownloadProgress {
            // What is new since the last time is added to the whole; what is gone is done.
            progress.bytesTotal += max(0, uploads.pendingByteCount - pendingBytes)
            progress.filesTotal += max(0, uploads.pendingCount - pendingCount)
            (pendingBytes, pendingCount) = (uploads.pendingByteCount, uploads.pendingCount)
            let active = min(uploads.activeDoneByteCount, pendingBytes)
            progress.bytesDone = max(progress.bytesDone, progress.bytesTotal - pendingBytes + active)
            progress.filesDone = progress.filesTotal - pendingCount
            return progress
        }
    }

    init(_ place: MountedPath) { self.place = place }

    func run(_ client: ControlClient) async throws {
        let state = Shared()
        try await ProgressDisplay.during(place.given, noun: "change") {
            try await client.send(SyncRequest(wait: true))
        } progress: {
            let totals = try await client.send(ContainerStatusRequest()).totals ?? ItemTotals()
            return state.value.withLock { $0.add(totals.uploads) }
        }
        for file in try await client.send(ContainerStatusRequest()).busyFiles ?? [] {
            FileHandle.standardError.write(
                Data("\("still being written: \(ContainerText.text(file))".printable)\n".utf8))
        }
    }

    private final class Shared: Sendable {
        let value = Mutex(State())
    }
}
