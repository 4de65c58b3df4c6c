import Logging
import Model
import Remote
import Replica
import Sync

/// Downloads the small files of other devices by itself, the newest first, as macOS does (`download_small`).
///
/// They come in the background, a few at a time, so that what somebody asks for waits behind no more than these; and only into
/// room that is there: nothing is evicted for them.
struct SmallDownloads: Sendable {
    let fileSystem: FileSystem
    /// How long a file is at most, in bytes.
    let byteLimit: Int64?

    /// How many are asked for at a time.
    static let width = 16
    /// How many files of paused directories are passed over in one look; those behind them wait until these are not paused.
    private static let lookLimit = 4096
    private static let batchCount = 256
    /// The longest time between two looks, apart from those after progress: there may be room on the disk.
    static let pause = Duration.seconds(10)
    /// Before the tree of a new mount is complete, nothing can be listed.
    private static let treePause = Duration.seconds(1)

    private var replica: Replica { fileSystem.replica }

    /// Runs until cancelled; without a limit it ends what an earlier mount had.
    func run() async {
        guard await prepare(), byteLimit != nil else { return }
        let activity = fileSystem.activity
        var hasFailed = false
        while !Task.isCancelled {
            let count = activity.progressCount
            do throws(FileError) {
                try requestNext()
                hasFailed = false
            } catch {
                if !hasFailed {
                    fileSystem.logger.warning(
                        "failed to look for small files to download; trying again", metadata: ["error": "\(error)"])
                }
                hasFailed = true
            }
            await activity.waitForProgress(since: count, atMost: Self.pause)
        }
    }

    /// - Returns: `false` when cancelled.
    private func prepare() async -> Bool {
        var hasFailed = false
        while !Task.isCancelled {
            do throws(FileError) {
                guard try replica.read({ try $0.smallFileLimit() }) != byteLimit else { return true }
                try replica.change(isLong: true) { try $0.listSmallFiles(upTo: byteLimit) }
                return true
            } catch {
                if error.code != .treeIncomplete, !hasFailed {
                    hasFailed = true
                    fileSystem.logger.warning(
                        "failed to list the small files; trying again", metadata: ["error": "\(error)"])
                }
            }
            guard (try? await fileSystem.environment.sleep(Self.treePause)) != nil else { return false }
        }
        return false
    }

    private func requestNext() throws(FileError) {
        // While the store does not answer, all would fail.
        guard !fileSystem.syncEngine.store.isFailing else { return }
        // Those that fail stay requested, and must not keep the others away.
        var free = try Self.width - replica.read { try $0.promisingDownloadCount() }
        guard free > 0 else { return }
        // What is asked for takes its room first.
        var room = try fileSystem.cache.evictor.room(besides: replica.read { try $0.pendingDownloads().byteCount })
        var last: SmallFile?
        var lookCount = 0
        while free > 0, lookCount < Self.lookLimit {
            let batch = try replica.read { try $0.smallFiles(after: last, limit: Self.batchCount) }
            guard let end = batch.last else { return }
            last = end
            lookCount += batch.count
            for file in batch where free > 0 {
                if try replica.read({ try $0.isPaused(file.inode) }) { continue }
                // A shorter one may still fit, but would come before a newer one.
                guard file.byteCount <= room else { return }
                room -= file.byteCount
                free -= 1
                try fileSystem.downloads.request(file.inode, because: .small)
                try replica.change { try $0.dropSmallFile(file.inode) }
            }
        }
    }
}
