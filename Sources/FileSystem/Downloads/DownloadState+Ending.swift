import Model
import Remote
import Replica

/// How batches fail, and how the download ends.
extension DownloadState {
    /// A GET of a batch failed.
    ///
    /// A batch that is retried, or whose pieces fail, stays in flight; after `failPieces`, ``piecesFailed(_:_:)``
    /// follows.
    mutating func batchFailed(
        _ batch: Batch, _ error: DownloadRetry.Failure, isStoreSilent: Bool
    ) -> DownloadRetry.Verdict {
        defer { checkInvariants() }
        guard let index = inFlight.firstIndex(where: { $0.batch == batch }) else {
            assertionFailure("a batch failed that is not in flight")
            return .failDownload(DownloadRetry.stopped)
        }
        var verdict = options.retry.verdict(
            on: error, attemptCount: inFlight[index].retryCount, isStoreSilent: isStoreSilent)
        // A store is not asked again for what nobody wants any more.
        if case .store = error, isCancelled { verdict = .failDownload(Outcome.cancellation) }
        switch verdict {
        case .retry:
            inFlight[index].retryCount += 1
            if case .store(let error) = error { lastFailure = error }
        case .failPieces:
            break
        case .failDownload(let error):
            inFlight.remove(at: index)
            failure = failure ?? error
        }
        return verdict
    }

    /// The missing pieces of a batch are damaged, or not in the store, and this is recorded in the index: their readers
    /// are answered.
    mutating func piecesFailed(_ batch: Batch, _ error: FileError) -> [Effect] {
        defer { checkInvariants() }
        remove(batch)
        for index in batch.pieces where !have.contains(index) { damaged[index] = error }
        return resumeWaiters()
    }

    /// Progress could not be recorded in the index, for instance since the file was changed or removed.
    mutating func saveFailed(_ error: FileError) {
        defer { checkInvariants() }
        failure = failure ?? error
    }

    /// Called at each ``DownloadRetry/watchPause``: whether anything has arrived, even while a call to the store hangs.
    ///
    /// - Parameter now: Time since some fixed start.
    /// - Returns: An error when the download is to be given up; ``gaveUp(_:)`` follows.
    mutating func ticked(now: Duration, isStoreSilent: Bool) -> FileError? {
        defer { checkInvariants() }
        let silence = watch.check(
            receivedByteCount: receivedByteCount, isWaiting: !inFlight.isEmpty || isHeadComing, now: now)
        guard options.retry.isGivenUp(after: silence, isStoreSilent: isStoreSilent) else { return nil }
        return lastFailure?.fileError ?? FileError(.unreachable, "the store has sent nothing for \(silence)")
    }

    /// Nothing has arrived for too long, and this is recorded in the index: waiters are answered at once, though calls
    /// to the store may still hang.
    mutating func gaveUp(_ error: FileError) -> [Effect] {
        defer { checkInvariants() }
        isGivenUp = true
        failure = failure ?? error
        return resumeWaiters()
    }

    /// How the fetch ended, once no worker runs any more; the caller installs the bytes of a finished one.
    var result: Outcome {
        if isCancelled { return .cancelled }
        let damage = damaged.min { $0.key < $1.key }?.value
        if let failure = failure ?? damage { return .failed(failure) }
        // The task of the download was cancelled while none of its workers had anything in flight.
        return have.isComplete ? .finished : .failed(DownloadRetry.stopped)
    }

    /// The download has ended: all remaining waiters get the outcome.
    mutating func conclude(_ outcome: Outcome) -> [Effect] {
        defer { checkInvariants() }
        assert(self.outcome == nil, "a download ended twice")
        self.outcome = outcome
        return resumeWaiters()
    }

    /// What must be true after each event.
    func checkInvariants() {
        assert(waiters.allSatisfy { arrival(for: $0) == nil }, "a waiter was kept that can be answered")
        assert(Set(waiters.map(\.id)).count == waiters.count, "a waiter waits twice")
        assert(
            Set(inFlight.flatMap(\.batch.pieces)).count == inFlight.reduce(0) { $0 + $1.batch.pieces.count },
            "a piece is fetched twice")
        assert(inFlight.count <= Self.width + 1, "there are more batches than workers")
        assert(
            damaged.keys.allSatisfy { index in
                !have.contains(index) && !inFlight.contains { $0.batch.pieces.contains(index) }
            }, "a damaged piece is present or in flight")
        assert(
            inFlight.allSatisfy { $0.batch.pieces.allSatisfy { pieces[$0].stored != nil } }, "a hole is fetched")
        assert(
            (0...pieces.count).contains(cursor) && (0..<Self.piecesPerProgress).contains(unsavedCount),
            "a position is out of bounds")
        assert(isHeadless || !have.contains(0), "the head was kept beside its piece")
        assert(!isGivenUp || failure != nil, "a download was given up without an error")
        assert(outcome == nil || (waiters.isEmpty && inFlight.isEmpty), "a download ended with work under way")
        assert(outcome != .finished || have.isComplete, "a download finished with missing pieces")
    }

    private var isHeadless: Bool {
        guard case .none = head else { return false }
        return true
    }
}
