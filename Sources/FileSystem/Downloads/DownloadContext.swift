import CoreMetrics
import Logging
import Model
import Remote
import Replica
import Sync

/// What all downloads of a container use: the store, the disk, the index, the time.
package struct DownloadContext: Sendable {
    let reader: ChunkReader
    /// Whether the store is known not to answer, so that readers need not wait for it.
    let store: WatchedStore
    let replica: Replica
    let freeSpaceFloor: FreeSpaceFloor
    let environment: EngineEnvironment
    let retry: DownloadRetry
    /// Fast paths that are turned off.
    let off: Set<FastPath>
    let logger: Logger
    /// Counts the requests that are repeated.
    let retries: Counter

    var recorder: DownloadRecorder { DownloadRecorder(replica: replica, logger: logger) }

    var options: DownloadState.Options {
        DownloadState.Options(
            retry: retry, isParallel: !off.contains(.parallelDownloads), readsAhead: !off.contains(.readAhead),
            takesHead: !off.contains(.fileHeads))
    }

    /// The pack expected to be read after a pack of a file.
    func nextPack(after pack: PackID, of inode: InodeNumber) -> PackID? {
        // On an error, no pack is read ahead.
        try? replica.look { try $0.nextPack(after: pack, from: inode) }
    }
}
