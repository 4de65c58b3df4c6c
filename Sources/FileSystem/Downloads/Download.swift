package import Model
import Remote
import Replica
import Sync
import Synchronization
import Linux

/// Runs the download of one file: many readers, one fetch.
///
/// ``DownloadState`` decides, and this performs its effects: no waiter is answered, and nothing is awaited, under the
/// lock.
package final class Download: Sendable {
    fileprivate struct Guarded {
        var state: DownloadState
        var continuations: [DownloadState.WaiterID: CheckedContinuation<DownloadState.Arrival, Never>] = [:]
        var lastWaiter: DownloadState.WaiterID = 0
    }

    package let inode: InodeNumber
    let staging: Descriptor
    package let byteCount: Int64
    let context: DownloadContext
    /// When it began, and how much was local then.
    package let began: Duration
    package let bytesAtBegin: Int64
    private let guarded: Mutex<Guarded>
    /// Raised when a reader has begun to wait.
    let demands = Signal()
    /// Raised when the first bytes are local.
    let arrival = Signal()
    let cancellation = Signal()

    /// - Parameter wanted: The range wanted first: the fetch begins there.
    init(of inode: InodeNumber, into file: StagingFile, wanted: Range<Int64> = 0..<0, _ context: DownloadContext) {
        self.inode = inode
        self.context = context
        staging = file.descriptor
        byteCount = file.content.byteCount
        let state = DownloadState(file.content, found: file.have, wanted: wanted, options: context.options)
        began = context.environment.uptime()
        bytesAtBegin = Int64(Double(file.content.byteCount) * state.percent / 100)
        guarded = Mutex(Guarded(state: state))
    }

    /// 0 to 100.
    package var percent: Double { withState { $0.percent } }

    package var bytesDone: Int64 { Int64(Double(byteCount) * percent / 100) }

    /// The local pieces, for the index to record.
    var have: ChunkSet { withState { $0.have } }

    /// Whether some pieces failed: the download continues with the rest, or is ending.
    var hasFailed: Bool { withState { $0.hasFailed } }

    /// How it ended; `nil` while it runs.
    var outcome: DownloadState.Outcome? { withState { $0.outcome } }

    package var isUnderWay: Bool { outcome == nil }

    var isCancelled: Bool { withState { $0.isCancelled } }

    /// Ends the download, and calls to the store that hang.
    package func cancel() {
        withState { $0.cancel() }
        cancellation.raise()
    }

    /// Ends the download: all remaining waiters get the outcome.
    func conclude(_ outcome: DownloadState.Outcome) { handle { $0.conclude(outcome) } }

    // MARK: Events and effects

    /// Reads the state, or lets it handle an event without effects.
    func withState<Value: Sendable>(_ body: (inout DownloadState) -> Value) -> Value {
        guarded.withLock { body(&$0.state) }
    }

    /// Lets the state handle an event, and performs the effects.
    ///
    /// - Returns: Whether there were any.
    @discardableResult
    func handle(_ event: (inout DownloadState) -> [DownloadState.Effect]) -> Bool {
        perform { event(&$0.state) }
    }

    private func perform(_ event: (inout Guarded) -> [DownloadState.Effect]) -> Bool {
        let (effects, continuations, isFirst) = guarded.withLock { guarded in
            let hadArrived = guarded.state.hasArrived
            let effects = event(&guarded)
            return (
                effects, effects.map { guarded.takeContinuation(for: $0) }, guarded.state.hasArrived != hadArrived
            )
        }
        if isFirst { arrival.raise() }
        for (effect, continuation) in zip(effects, continuations) {
            switch effect {
            case .resume(_, let arrival):
                continuation?.resume(returning: arrival)
            case .fetchDemanded:
                demands.raise()
            case .saveProgress(let have):
                do throws(FileError) { try context.recorder.save(have, of: inode) } catch {
                    withState { $0.saveFailed(error) }
                }
            }
        }
        return !effects.isEmpty
    }

    // MARK: Readers

    /// Whether every byte of `range` is local and verified.
    func has(_ range: Range<Int64>) -> Bool { withState { $0.has(range) } }

    /// Waits until every byte of `range` is local and verified.
    ///
    /// - Returns: The bytes, up to the end of the file, if they have just arrived; `nil` if they are to be read from
    ///   the staging file.
    /// - Throws: ``FileError`` with `interrupted` when the task is cancelled, `cancelled` when the download is, or what
    ///   failed.
    @discardableResult
    func wait(for range: Range<Int64>) async throws(FileError) -> ArraySlice<UInt8>? {
        try await wait(for: .bytes(range))
    }

    /// Waits until the file is installed or the download has ended without it.
    func waitUntilSettled() async throws(FileError) { _ = try await wait(for: .outcome) }

    /// Waits until no task of the download runs any more, however it ends.
    func waitUntilEnded() async {
        // The outcome was reported to the readers.
        _ = try? await wait(for: .end)
    }

    private func wait(for goal: DownloadState.Goal) async throws(FileError) -> ArraySlice<UInt8>? {
        let id = guarded.withLock { guarded in
            guarded.lastWaiter += 1
            return guarded.lastWaiter
        }
        let arrival = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                _ = perform { guarded in
                    guarded.continuations[id] = continuation
                    let effects = guarded.state.wait(id, for: goal)
                    // Whoever was cancelled before has not been interrupted yet.
                    return Task.isCancelled ? effects + guarded.state.interrupted(id) : effects
                }
            }
        } onCancel: {
            handle { $0.interrupted(id) }
        }
        switch arrival {
        case .present: return nil
        case .bytes(let bytes): return bytes
        case .failed(let error): throw error
        }
    }
}

extension Download.Guarded {
    /// The continuation that an effect resumes.
    mutating func takeContinuation(
        for effect: DownloadState.Effect
    ) -> CheckedContinuation<DownloadState.Arrival, Never>? {
        guard case .resume(let waiter, _) = effect else { return nil }
        let continuation = continuations.removeValue(forKey: waiter)
        assert(continuation != nil, "a waiter was answered twice")
        return continuation
    }
}
