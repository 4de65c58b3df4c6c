import Synchronization

/// How far a transfer is, written by the transfer and read by who shows it.
package final class TransferProgress: Sendable {
    fileprivate struct State {
        // One file is missing until it is known how many there are, so that nothing looks complete.
        var progress = DownloadProgress(bytesDone: 0, bytesTotal: 0, filesDone: 0, filesTotal: 1)
        /// The bytes of the batches that have ended.
        var settledByteCount: Int64 = 0
    }

    private let state = Mutex(State())

    package init() {}

    package var current: DownloadProgress { state.withLock { $0.progress } }

    /// Starts with what is to be transferred.
    package func begin(fileCount: Int, byteCount: Int64) {
        state.withLock {
            $0.progress = DownloadProgress(bytesDone: 0, bytesTotal: byteCount, filesDone: 0, filesTotal: fileCount)
        }
    }

    /// Adds bytes of the batch under way.
    package func advance(byteCount: Int64) {
        state.withLock { state in state.progress.bytesDone = state.sum(state.progress.bytesDone, byteCount) }
    }

    /// Ends a batch: it counts as done, whether it succeeded or was left out.
    package func endBatch(fileCount: Int, byteCount: Int64) {
        state.withLock { state in
            state.settledByteCount = state.sum(state.settledByteCount, byteCount)
            state.progress.bytesDone = state.settledByteCount
            state.progress.filesDone += fileCount
        }
    }
}

extension TransferProgress.State {
    /// At most all bytes: what a remote says of its files is not checked.
    fileprivate func sum(_ done: Int64, _ byteCount: Int64) -> Int64 {
        let (sum, overflow) = done.addingReportingOverflow(byteCount)
        return overflow ? progress.bytesTotal : min(sum, progress.bytesTotal)
    }
}
