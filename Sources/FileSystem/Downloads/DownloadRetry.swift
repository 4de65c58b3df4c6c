import Model
import Remote

/// Decides whether and when what failed is tried again, both within a download and for whole downloads: a pure value.
///
///     a GET failed             no answer, store not known to be silent ──▶ the same GET again, 100 ms to 5 s later, or
///                                as soon as the store answers another request, but not while it asks for a pause
///                              a damaged or missing object ──▶ its pieces fail, the others are still fetched
///                              anything else ──▶ the download fails
///     nothing arrives          for the network timeout, or the store is known to be silent ──▶ the download fails
///     a download failed        superseded or cancelled ──▶ at once, if it is still requested
///                              missing in the container, no answer ──▶ with the next round, 15 s to 5 min later
///                              anything else ──▶ only when it is requested again
struct DownloadRetry: Hashable, Sendable {
    /// Pauses that double from one attempt to the next.
    struct Pauses: Hashable, Sendable {
        let first: Duration
        let limit: Duration

        /// - Parameter attemptCount: How many attempts have been repeated before.
        func pause(after attemptCount: Int) -> Duration {
            var pause = first
            for _ in 0..<attemptCount {
                if pause >= limit { break }
                pause = pause * 2
            }
            return min(pause, limit)
        }
    }

    /// Before a failed GET is repeated.
    static let requestPauses = Pauses(first: .milliseconds(100), limit: .seconds(5))
    /// Before requested downloads are tried again after the store lacked an object or did not answer.
    static let roundPauses = Pauses(first: .seconds(15), limit: .seconds(300))
    /// The interval at which the arrival of bytes is checked.
    static let watchPause = Duration.milliseconds(250)
    /// How long nothing may arrive from a store that is known to be silent.
    static let silentStorePatience = watchPause * 2
    /// How often a download may be superseded by newer bytes before a caller that waits for the whole file is answered.
    static let supersededLimit = 10
    /// The fault codes, which are Apple's, of downloads that are tried again in rounds.
    static let roundFaults: Set<Int> = [4353, 4355]

    /// How long nothing may arrive before a download is given up.
    let networkTimeout: Duration

    /// Why a GET did not complete.
    enum Failure: Equatable, CustomStringConvertible {
        case store(StoreError)
        /// A failure of this disk, not of the store.
        case disk(FileError)
        /// The task of the download was cancelled.
        case stopped

        var description: String {
            switch self {
            case .store(let error): "\(error)"
            case .disk(let error): "\(error)"
            case .stopped: "\(DownloadRetry.stopped)"
            }
        }
    }

    enum Verdict: Equatable {
        case retry(after: Duration)
        /// The pieces of the GET fail; the others are still worth fetching.
        case failPieces(FileError)
        case failDownload(FileError)
    }

    /// Judges a GET that failed.
    ///
    /// How often it may fail is not limited here: ``isGivenUp(after:isStoreSilent:)`` ends the attempts.
    /// - Parameters:
    ///   - attemptCount: How many attempts have been repeated before.
    ///   - isStoreSilent: Whether the store is known not to answer.
    func verdict(on failure: Failure, attemptCount: Int, isStoreSilent: Bool) -> Verdict {
        switch failure {
        case .store(let error) where error.isTransient && !isStoreSilent:
            return .retry(after: max(Self.requestPauses.pause(after: attemptCount), error.retryAfter ?? .zero))
        case .store(let error): return Self.verdict(on: error.fileError)
        case .disk(let error): return Self.verdict(on: error)
        case .stopped: return .failDownload(Self.stopped)
        }
    }

    private static func verdict(on error: FileError) -> Verdict {
        error.code == .corrupt || error.code == .notInContainer ? .failPieces(error) : .failDownload(error)
    }

    static var stopped: FileError { FileError(.cancelled, "the download was stopped") }

    /// Whether to stop waiting for bytes.
    ///
    /// - Parameter silence: How long nothing has arrived, not counting sleep of the machine.
    func isGivenUp(after silence: Duration, isStoreSilent: Bool) -> Bool {
        silence >= networkTimeout || (silence >= Self.silentStorePatience && isStoreSilent)
    }

    /// How many failed downloads one round tries: while the store does not answer, one is as good a test as all.
    static func roundLimit(isStoreFailing: Bool) -> Int { isStoreFailing ? 1 : .max }

    /// Whether a download that ended is tried again at once, if it is still requested.
    static func isRepeatedAtOnce(_ outcome: DownloadState.Outcome) -> Bool {
        switch outcome {
        case .finished: false
        // Requested again while it was ending.
        case .cancelled: true
        // Another device published newer bytes in between: download those.
        case .failed(let error): error.code == .superseded
        }
    }

    /// Whether a caller that waits for the whole file goes on with a new download.
    ///
    /// - Parameters:
    ///   - wasCancelledBefore: Whether the download was already being cancelled when the caller began to wait.
    ///   - attemptCount: How many downloads have failed for it, this one included.
    static func isRepeated(for error: FileError, wasCancelledBefore: Bool, attemptCount: Int) -> Bool {
        // Newer bytes were published in between: download those.
        let isOutdated = error.code == .superseded || (error.code == .cancelled && wasCancelledBefore)
        return isOutdated && attemptCount < supersededLimit
    }
}
