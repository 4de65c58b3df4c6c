import Logging
package import Model
import Remote
import Replica
import Sync

/// Downloads of whole files: requested ones in the background, and those that a caller waits for.
extension Downloads {
    /// The most concurrent downloads of files that no reader waits for.
    static let backgroundWidth = 4

    /// Records the request for a whole file and queues its download; does nothing if the file is local.
    ///
    /// - Parameter cause: `nil` for a request that continues an earlier one.
    package func request(_ number: InodeNumber, because cause: DownloadCause?) throws(FileError) {
        let inode = try replica.look { try $0.inode(number) }
        guard inode.isDownloadable else { return }
        try replica.change { try $0.setError(nil, of: number) }
        try replica.change { try $0.downloads.setRequested(true, of: number, because: cause?.text) }
        enqueue(number)
    }

    /// Queues a file whose download is requested: at most ``backgroundWidth`` at a time, first come, first served.
    ///
    /// Requests are recorded in the index, so the queue is no longer than the number of requested files.
    package func enqueue(_ inode: InodeNumber) { requested.yield(inode) }

    /// Downloads requested files until cancelled.
    func runRequests() async {
        let width = context.options.isParallel ? Self.backgroundWidth : 1
        await withTaskGroup(of: Void.self) { group in
            var running = 0
            for await inode in requests {
                if running == width {
                    await group.next()
                    running -= 1
                }
                running += 1
                group.addTask { await self.downloadRequested(inode) }
            }
        }
    }

    private func downloadRequested(_ inode: InodeNumber) async {
        do throws(FileError) {
            // A failed or cancelled download is not joined: a new request is a new attempt.
            if let ending = active(inode), ending.hasFailed || ending.isCancelled { await ending.waitUntilEnded() }
            // It may have been downloaded, deleted or cancelled while it was queued.
            let isWanted = try replica.look { try $0.inode(inode).isDownloadable && $0.isDownloadRequested(inode) }
            guard isWanted else { return }
            if try isContentUnknown(inode) { try await learnContent(of: inode) }
            let download = try join(inode)
            try await download.wait(for: 0..<download.byteCount)
        } catch {
            context.logger.debug("a requested download ended", metadata: ["inode": "\(inode)", "error": "\(error)"])
        }
    }

    // MARK: Later attempts

    /// Periodically retries requested downloads that failed because of the store; see ``DownloadRetry``.
    ///
    /// While the store does not answer, only one of them: ``retryFailed(atMost:)`` is called for the rest as soon as
    /// it does.
    func runRounds() async {
        var roundCount = 0
        // Cancelled: the engine shuts down, and requests stay recorded in the index.
        while (try? await context.environment.sleep(DownloadRetry.roundPauses.pause(after: roundCount))) != nil {
            let isTried = retryFailed(atMost: DownloadRetry.roundLimit(isStoreFailing: context.store.isFailing))
            roundCount = isTried ? roundCount + 1 : 0
        }
    }

    /// Requeues requested downloads that failed because of the store.
    /// - Returns: Whether there were any.
    @discardableResult
    func retryFailed(atMost limit: Int = .max) -> Bool {
        do throws(FileError) {
            let failed = try replica.look { try $0.requestedDownloads(failedWith: DownloadRetry.roundFaults) }
                .filter { active($0) == nil }
            failed.prefix(limit).forEach(enqueue)
            return !failed.isEmpty
        } catch {
            context.logger.error(
                "failed to retry requested downloads; trying again later", metadata: ["error": "\(error)"])
            return false
        }
    }

    // MARK: Callers that wait

    /// The download of a file that is not local, joined or begun; `nil` if it is local.
    func begin(
        _ number: InodeNumber, because cause: @autoclosure () -> DownloadCause?
    ) throws(FileError) -> Download? {
        if let download = active(number) { return download }
        return try begin(number, try replica.look { try $0.inode(number) }, because: cause())
    }

    /// - Parameters:
    ///   - inode: Its row in the index.
    ///   - wanted: The range wanted first.
    ///   - cause: Who causes a new one; `nil` when that was noted with the request.
    func begin(
        _ number: InodeNumber, _ inode: Inode, wanted: Range<Int64> = 0..<0,
        because cause: @autoclosure () -> DownloadCause?
    ) throws(FileError) -> Download? {
        guard inode.isDownloadable else { return nil }
        if inode.isContentUnknown {
            throw FileError(
                .corrupt, "the chunk list of \(try replica.look { try $0.path(of: number) }) cannot be read")
        }
        do throws(FileError) {
            return try join(number, wanted: wanted, because: cause())
        } catch {
            // Its download ended in between.
            if try replica.look({ try $0.inode(number).isLocal }) { return nil }
            throw error
        }
    }

    /// Waits until the whole file is local.
    ///
    /// - Parameter cause: Who causes a new download; `nil` when that was noted with the request.
    package func makeLocal(_ number: InodeNumber, because cause: DownloadCause? = nil) async throws(FileError) {
        if try isContentUnknown(number) { try await learnContent(of: number) }
        var attemptCount = 0
        while let download = try begin(number, because: cause) {
            // A cancelled download is not joined: a new request is a new attempt.
            let wasCancelled = download.isCancelled
            do throws(FileError) {
                return try await download.waitUntilSettled()
            } catch {
                // Truncated or replaced in between: there is nothing left to download.
                if error.code == .cancelled, try !replica.look({ try $0.inode(number).isDownloadable }) { return }
                attemptCount += 1
                guard
                    DownloadRetry.isRepeated(
                        for: error, wasCancelledBefore: wasCancelled, attemptCount: attemptCount)
                else { throw error }
            }
        }
    }
}

extension Inode {
    /// Whether its bytes, or newer ones, are only in the container.
    fileprivate var isDownloadable: Bool { !isLocal || hasIncoming }
}
