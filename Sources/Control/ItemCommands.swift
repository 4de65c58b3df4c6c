package import FileSystem
package import Model
import Replica
import Sync

/// What people have done with items: downloads, pins, pauses, exclusion from sync.
package struct ItemCommands: Sendable {
    private let fileSystem: FileSystem

    package init(_ fileSystem: FileSystem) { self.fileSystem = fileSystem }

    private var replica: Replica { fileSystem.replica }
    private var downloads: Downloads { fileSystem.downloads }
    private var events: ItemEvents { fileSystem.events }

    /// Requests the download of a file, or of every file below a directory; returns at once.
    package func request(_ number: InodeNumber, because cause: DownloadCause) throws(FileError) {
        try forEachFile(below: number) { file throws(FileError) in
            try downloads.request(file, because: cause)
        }
    }

    package func cancelDownload(_ number: InodeNumber) throws(FileError) {
        try forEachFile(below: number) { file throws(FileError) in
            if try replica.read({ try $0.isDownloadRequested(file) }) {
                try replica.change { try $0.downloads.setRequested(false, of: file) }
            }
            downloads.active(file)?.cancel()
        }
    }

    /// Downloads a file, or every file below a directory, and waits until all are local.
    package func download(_ number: InodeNumber, because cause: DownloadCause) async throws(FileError) {
        try request(number, because: cause)
        var files: [InodeNumber] = []
        try forEachFile(below: number) { files.append($0) }
        for file in files {
            if Task.isCancelled { throw FileError(.interrupted, "the wait for the download was interrupted") }
            do throws(FileError) {
                try await downloads.makeLocal(file)
            } catch {
                // A file below a directory was unlinked in the meantime: not a failure of the others.
                if error.code == .notFound, file != number { continue }
                throw error
            }
        }
    }

    /// Calls `body` for a file itself, or for each file below a directory.
    package func forEachFile(
        below number: InodeNumber, _ body: (InodeNumber) throws(FileError) -> Void
    ) throws(FileError) {
        let kind = try replica.read { try $0.attributes(of: number).kind }
        if kind == .file { return try body(number) }
        guard kind == .directory else { return }
        for file in try replica.read({ try $0.filesBelow(number) }) { try body(file) }
    }

    // MARK: Pinning

    /// Pinned items are downloaded and stay local; pinning a directory includes its contents.
    package func setPinned(_ number: InodeNumber, _ isPinned: Bool) throws(FileError) {
        try replica.change { try $0.setPinned(isPinned, of: number) }
        events.transferred(UbiquityKeys.pinned, of: number)
        if isPinned { try request(number, because: .pinned) }
    }

    // MARK: Pausing

    /// Pauses or resumes sync of an item and everything in it; of the root, of the whole container.
    package func setPaused(_ number: InodeNumber, _ isPaused: Bool) throws(FileError) {
        try replica.change { try $0.setPaused(isPaused, of: number) }
        events.transferred(UbiquityKeys.paused, of: number)
        if !isPaused {
            // Newer bytes that arrived during the pause were only recorded.
            try forEachFile(below: number) { file throws(FileError) in
                guard try replica.read({ try $0.isDownloadRequested(file) }) else { return }
                if try !replica.read({ try $0.isPaused(file) }) { downloads.enqueue(file) }
            }
        }
        fileSystem.activity.noteLocalChange()
        fileSystem.syncEngine.follower.wakeUp()
    }

    // MARK: Exclusion

    /// Excludes an item and everything in it from sync: deletes it from the container once all of its bytes are local.
    package func exclude(_ number: InodeNumber) async throws(FileError) {
        guard number != .root else {
            throw FileError(.invalid, "a container cannot be excluded from its own sync")
        }
        try fileSystem.syncEngine.context.requireWritable()
        var attempts = 0
        while true {
            if try !replica.read({ try $0.isExcluded(number) }) { try await download(number, because: .exclusion) }
            do throws(FileError) {
                try replica.change { try $0.setExcluded(true, of: number) }
                break
            } catch {
                // Newer bytes were published in between.
                attempts += 1
                guard error.code == .notLocal, attempts < Self.excludeAttempts else { throw error }
            }
        }
        // From here on the local bytes are the only copy.
        try replica.makeDurable()
        fileSystem.activity.noteLocalChange()
    }

    /// How often newer bytes may be published while an item is being excluded.
    private static let excludeAttempts = 10

    /// Includes an excluded item in sync again.
    package func include(_ number: InodeNumber) throws(FileError) {
        try fileSystem.syncEngine.context.requireWritable()
        try replica.change { try $0.setExcluded(false, of: number) }
        fileSystem.activity.noteLocalChange()
    }
}
