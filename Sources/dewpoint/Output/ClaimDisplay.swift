import ControlClient
import Foundation
import Model
import Synchronization

/// Shows what a claim waits for on a terminal; prints nothing elsewhere.
final class ClaimDisplay: Sendable {
    private let isTerminal = isatty(STDERR_FILENO) == 1
    private let download = Mutex<(display: ProgressDisplay, last: DownloadProgress)?>(nil)

    func show(_ progress: ClaimProgress) {
        guard isTerminal else { return }
        switch progress {
        case .waiting(let other):
            CommandFailure.say("waiting for \(other)")
        case .downloading(let done, let total):
            let progress = DownloadProgress(
                bytesDone: done, bytesTotal: total, filesDone: done < total ? 0 : 1, filesTotal: 1)
            download.withLock { state in
                var display = state?.display ?? ProgressDisplay(name: "downloading", noun: "file")
                display.show(progress)
                state = (display, progress)
            }
        }
    }

    func finish() {
        download.withLock { state in
            if let last = state?.last { state?.display.show(last, isLast: true) }
            state = nil
        }
    }
}
