import Model
import Synchronization

/// Fetches several one-piece files with one GET if they were uploaded together and are read one after another; each
/// goes to its reader as soon as it arrives.
///
///     fetching ──▶ over ──▶ dropped      when all of it was used, ``keepTime`` later, or when the store failed
///
/// ``PackRuns`` selects the files. They stay in memory only: unread files are not downloaded.
package final class PackReadAhead: Sendable {
    /// The longest file that is fetched this way: one chunk.
    static let rangeByteLimit = Content.chunkByteCount
    /// How many ranges are fetched or kept: 32 MiB in all.
    static let stretchLimit = 8
    /// How long unread bytes are kept.
    static let keepTime = Duration.seconds(5)

    private struct Waiter {
        let range: Range<Int64>
        let continuation: CheckedContinuation<Piece, Never>
    }

    private struct Stretch {
        let pack: PackID
        let range: Range<Int64>
        /// In order of arrival.
        var arrivals: [[UInt8]] = []
        var end: Int64
        var handedByteCount: Int64 = 0
        var isOver = false
        var waiters: [UInt64: Waiter] = [:]
    }

    /// A reader's part: the arrivals that contain its bytes.
    private struct Piece {
        var arrivals: ArraySlice<[UInt8]> = []
        /// How much of the first arrival precedes the part.
        var skipped = 0
    }

    private struct State {
        var runs = PackRuns()
        var stretches: [UInt64: Stretch] = [:]
        var last: UInt64 = 0
        var isRunning = false
    }

    private enum Part {
        case alone
        case present(Piece)
        case wait(UInt64)
    }

    private let packs: PackStore
    private let state = Mutex(State())
    private let begun: AsyncStream<UInt64>
    private let begin: AsyncStream<UInt64>.Continuation

    package init(packs: PackStore) {
        self.packs = packs
        (begun, begin) = AsyncStream.makeStream(of: UInt64.self)
    }

    /// Fetches ahead until cancelled; nothing is fetched ahead while it does not run.
    ///
    /// - Parameter sleep: Throws when the task is cancelled.
    package func run(
        uptime: @escaping @Sendable () -> Duration, sleep: @escaping @Sendable (Duration) async throws -> Void
    ) async {
        state.withLock { $0.isRunning = true }
        await withDiscardingTaskGroup { group in
            for await stretch in begun {
                group.addTask {
                    await self.fetch(stretch, uptime: uptime)
                    guard self.holds(stretch) else { return }
                    // Cut short at the end.
                    try? await sleep(Self.keepTime)
                    self.drop(stretch)
                }
            }
        }
        let left = state.withLock { state in
            state.isRunning = false
            return Array(state.stretches.keys)
        }
        left.forEach(drop)
    }

    /// - Parameters:
    ///   - range: A whole file's bytes in the pack.
    ///   - next: Returns the pack that is expected to be read after this one; called when needed.
    /// - Returns: The bytes as they arrived, not verified; `nil` when the caller should fetch them itself.
    func bytes(of pack: PackID, _ range: Range<Int64>, next: () -> PackID?) async -> [ArraySlice<UInt8>]? {
        guard range.count <= Self.rangeByteLimit else { return nil }
        let (part, wantsNext) = state.withLock { state in
            let part = Self.part(pack, range, &state, begin)
            return (part, Self.hasRoom(state) && state.runs.wantsNext())
        }
        if wantsNext, let next = next() {
            state.withLock { state in
                guard Self.hasRoom(state), let wanted = state.runs.goOn(from: pack, in: next) else { return }
                Self.add(wanted, &state, begin)
            }
        }
        let piece: Piece
        switch part {
        case .alone: return nil
        case .present(let found): piece = found
        case .wait(let stretch): piece = await arrival(of: range, in: stretch)
        }
        guard !piece.arrivals.isEmpty else { return nil }
        var parts: [ArraySlice<UInt8>] = []
        var left = range.count
        var skipped = piece.skipped
        for arrival in piece.arrivals {
            let part = arrival[skipped...].prefix(left)
            parts.append(part)
            left -= part.count
            skipped = 0
        }
        return parts
    }

    private static func part(
        _ pack: PackID, _ range: Range<Int64>, _ state: inout State, _ begin: AsyncStream<UInt64>.Continuation
    ) -> Part {
        if let wanted = state.runs.ask(pack, range, hasRoom: hasRoom(state)) { add(wanted, &state, begin) }
        for (id, stretch) in state.stretches
        where stretch.pack == pack && stretch.range.lowerBound <= range.lowerBound
            && range.upperBound <= stretch.range.upperBound
        {
            if let piece = take(range, from: id, &state) { return .present(piece) }
            return stretch.isOver ? .alone : .wait(id)
        }
        return .alone
    }

    private static func hasRoom(_ state: State) -> Bool {
        state.isRunning && (state.stretches.count < stretchLimit || state.stretches.values.contains { $0.isOver })
    }

    private static func add(
        _ wanted: PackRuns.Stretch, _ state: inout State, _ begin: AsyncStream<UInt64>.Continuation
    ) {
        if state.stretches.count >= stretchLimit, let oldest = state.stretches.filter({ $0.value.isOver }).keys.min() {
            state.stretches[oldest] = nil
        }
        state.last += 1
        state.stretches[state.last] = Stretch(pack: wanted.pack, range: wanted.range, end: wanted.range.lowerBound)
        begin.yield(state.last)
    }

    /// - Returns: `nil` while it is incomplete.
    private static func take(_ range: Range<Int64>, from id: UInt64, _ state: inout State) -> Piece? {
        guard let stretch = state.stretches[id], stretch.end >= range.upperBound else { return nil }
        var offset = stretch.range.lowerBound
        var first = 0
        while offset + Int64(stretch.arrivals[first].count) <= range.lowerBound {
            offset += Int64(stretch.arrivals[first].count)
            first += 1
        }
        let skipped = Int(range.lowerBound - offset)
        var last = first
        while offset < range.upperBound {
            offset += Int64(stretch.arrivals[last].count)
            last += 1
        }
        state.stretches[id]?.handedByteCount += Int64(range.count)
        dropIfHandedOut(id, &state)
        return Piece(arrivals: stretch.arrivals[first..<last], skipped: skipped)
    }

    private static func dropIfHandedOut(_ id: UInt64, _ state: inout State) {
        guard let stretch = state.stretches[id], stretch.isOver,
            stretch.handedByteCount >= stretch.end - stretch.range.lowerBound
        else { return }
        state.stretches[id] = nil
    }

    private func holds(_ id: UInt64) -> Bool { state.withLock { $0.stretches[id] != nil } }

    private func arrival(of range: Range<Int64>, in stretch: UInt64) async -> Piece {
        let id = state.withLock { state in
            state.last += 1
            return state.last
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer = state.withLock { state -> Piece? in
                    if let piece = Self.take(range, from: stretch, &state) { return piece }
                    guard let found = state.stretches[stretch], !found.isOver, !Task.isCancelled else { return Piece() }
                    state.stretches[stretch]?.waiters[id] = Waiter(range: range, continuation: continuation)
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let waiter = state.withLock { $0.stretches[stretch]?.waiters.removeValue(forKey: id) }
            waiter?.continuation.resume(returning: Piece())
        }
    }

    private func fetch(_ id: UInt64, uptime: () -> Duration) async {
        guard let (pack, range) = state.withLock({ $0.stretches[id].map { ($0.pack, $0.range) } }) else { return }
        let start = uptime()
        do {
            let stream = try await packs.get(pack, range: range)
            // No more than was requested, whatever the store sends.
            var left = range.count
            while left > 0, let bytes = try await stream.next() {
                left -= bytes.count
                arrived(bytes, in: id)
            }
            let elapsed = uptime() - start
            state.withLock { $0.runs.took(elapsed) }
        } catch {
            // Waiting readers fetch their own bytes, and get the same error.
        }
        // The pack may end before the range does.
        let waiters = state.withLock { state in
            defer {
                state.stretches[id]?.waiters = [:]
                Self.dropIfHandedOut(id, &state)
            }
            state.stretches[id]?.isOver = true
            return Array((state.stretches[id]?.waiters ?? [:]).values)
        }
        for waiter in waiters { waiter.continuation.resume(returning: Piece()) }
    }

    private func arrived(_ bytes: [UInt8], in id: UInt64) {
        let ready = state.withLock { state -> [(Waiter, Piece)] in
            state.stretches[id]?.arrivals.append(bytes)
            state.stretches[id]?.end += Int64(bytes.count)
            guard let stretch = state.stretches[id] else { return [] }
            return stretch.waiters.compactMap { key, waiter in
                guard let piece = Self.take(waiter.range, from: id, &state) else { return nil }
                state.stretches[id]?.waiters[key] = nil
                return (waiter, piece)
            }
        }
        for (waiter, piece) in ready { waiter.continuation.resume(returning: piece) }
    }

    private func drop(_ id: UInt64) {
        let stretch = state.withLock { $0.stretches.removeValue(forKey: id) }
        for waiter in (stretch?.waiters ?? [:]).values { waiter.continuation.resume(returning: Piece()) }
    }
}
