import Synchronization

/// How far a transfer is, written by the transfer and read by who shows it.
package final class TransferProgress: Sendable {
    // One file is missing until it is known how many there are, so that nothing looks complete.
    private let state = Mutex(DownloadProgress(bytesDone: 0, bytesTotal: 0, filesDone: 0, filesTotal: 1))

    package init() {}

    package var current: DownloadProgress { state.withLock { $0 } }

    /// Starts with what is to be transferred.
    package func begin(fileCount: Int, byteCount: Int64) {
        state.withLock {
            $0 = DownloadProgress(bytesDone: 0, bytesTotal: byteCount, filesDone: 0, filesTotal: fileCount)
        }
    }

    /// Adds what is done, whether it succeeded or was left out.
    package func add(fileCount: Int, byteCount: Int64) {
        state.withLock { state in
            state.filesDone += fileCount
            // What a remote says of its files is not checked.
            let (sum, overflow) = state.bytesDone.addingReportingOverflow(byteCount)
            state.bytesDone = overflow ? .max : sum
        }
    }
}
