import Model
import Remote
import Testing

@testable import FileSystem

@Suite struct DownloadRetryTests {
    private let retry = DownloadRetry(networkTimeout: .seconds(10))

    @Test func `pauses double up to their limit`() {
        let requests = (0..<8).map { DownloadRetry.requestPauses.pause(after: $0) }
        #expect(requests == [100, 200, 400, 800, 1600, 3200, 5000, 5000].map { .milliseconds($0) })
        let rounds = (0..<7).map { DownloadRetry.roundPauses.pause(after: $0) }
        #expect(rounds == [15, 30, 60, 120, 240, 300, 300].map { .seconds($0) })
        #expect(DownloadRetry.roundPauses.pause(after: .max) == .seconds(300))
    }

    @Test(arguments: StoreError.Code.allCases)
    func `a GET is repeated only when the store may answer later`(code: StoreError.Code) {
        let error = StoreError(code, key: "k")
        let verdict = retry.verdict(on: .store(error), attemptCount: 2, isStoreSilent: false)
        switch code {
        case .unavailable, .throttled: #expect(verdict == .retry(after: .milliseconds(400)))
        case .notFound, .corrupt: #expect(verdict == .failPieces(error.fileError))
        case .preconditionFailed, .denied, .full, .invalid, .cancelled:
            #expect(verdict == .failDownload(error.fileError))
        }
    }

    @Test func `a GET is not repeated before the store wants to be asked`() {
        let error = StoreError(.throttled, key: "k", retryAfter: .seconds(30))
        let verdict = retry.verdict(on: .store(error), attemptCount: 2, isStoreSilent: false)
        #expect(verdict == .retry(after: .seconds(30)))
    }

    @Test(arguments: [StoreError.Code.unavailable, .throttled])
    func `a GET is not repeated while the store is known to be silent`(code: StoreError.Code) {
        let error = StoreError(code, key: "k")
        let verdict = retry.verdict(on: .store(error), attemptCount: 0, isStoreSilent: true)
        #expect(verdict == .failDownload(error.fileError))
    }

    @Test func `a local disk error or a stop ends the download`() {
        let full = FileError(.diskFull, "")
        #expect(retry.verdict(on: .disk(full), attemptCount: 0, isStoreSilent: false) == .failDownload(full))
        let stopped = retry.verdict(on: .stopped, attemptCount: 0, isStoreSilent: false)
        #expect(stopped == .failDownload(DownloadRetry.stopped))
    }

    @Test func `a download is given up after the network timeout, or sooner if the store is known to be silent`() {
        #expect(!retry.isGivenUp(after: .milliseconds(9999), isStoreSilent: false))
        #expect(retry.isGivenUp(after: .seconds(10), isStoreSilent: false))
        #expect(!retry.isGivenUp(after: .milliseconds(499), isStoreSilent: true))
        #expect(retry.isGivenUp(after: .milliseconds(500), isStoreSilent: true))
    }

    @Test func `a cancelled or superseded download is retried at once, others in rounds or not at all`() {
        #expect(DownloadRetry.isRepeatedAtOnce(.cancelled))
        #expect(DownloadRetry.isRepeatedAtOnce(.failed(FileError(.superseded, ""))))
        #expect(!DownloadRetry.isRepeatedAtOnce(.finished))
        for code in FileError.Code.allCases where code != .superseded {
            let error = FileError(code, "")
            #expect(!DownloadRetry.isRepeatedAtOnce(.failed(error)))
            let isInRounds = DownloadRetry.roundFaults.contains(ItemFault(downloading: error).code)
            #expect(isInRounds == (code != .corrupt && code != .diskFull), "\(code)")
        }
        #expect(DownloadRetry.roundLimit(isStoreFailing: true) == 1)
        #expect(DownloadRetry.roundLimit(isStoreFailing: false) == .max)
    }

    @Test func `a caller retries a superseded or previously cancelled download up to ten times`() {
        let (superseded, cancelled) = (FileError(.superseded, ""), FileError(.cancelled, ""))
        #expect(DownloadRetry.isRepeated(for: superseded, wasCancelledBefore: false, attemptCount: 9))
        #expect(!DownloadRetry.isRepeated(for: superseded, wasCancelledBefore: true, attemptCount: 10))
        #expect(DownloadRetry.isRepeated(for: cancelled, wasCancelledBefore: true, attemptCount: 1))
        #expect(!DownloadRetry.isRepeated(for: cancelled, wasCancelledBefore: false, attemptCount: 1))
        #expect(
            !DownloadRetry.isRepeated(for: FileError(.unreachable, ""), wasCancelledBefore: true, attemptCount: 1))
    }
}
