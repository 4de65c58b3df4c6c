import Model
import Synchronization

/// Caches recently fetched ranges of packs, so that small files that were uploaded together are downloaded together:
/// one GET fetches the files around the one that is read.
///
/// The first small read in a pack fetches only its own range, since it may be the only one. From the second on whole
/// windows are fetched and kept for a while. Several readers of one window wait for one GET.
///
///     absent ── second small read in the pack ──▶ fetching ──▶ present ── ``windowLimit`` newer ones ──▶ absent
///                                                     └─ failure ─▶ absent: each waiting reader fetches for itself
package final class PackWindows: Sendable {
    /// The length of a window, which starts at a multiple of it: 1 MiB.
    static let windowByteCount: Int64 = 1 << 20
    /// The longest range that is taken from a window; a longer one justifies its own GET: 64 KiB.
    static let rangeByteLimit: Int64 = 64 << 10
    /// How many windows are kept: 16 MiB in all.
    static let windowLimit = 16
    /// For how many packs a small read is remembered.
    static let packLimit = 64

    private struct WindowKey: Hashable {
        let pack: PackID
        let index: Int64
    }

    private enum Window {
        case fetching([CheckedContinuation<[UInt8]?, Never>])
        case present([UInt8], lastUse: UInt64)
    }

    private struct State {
        var windows: [WindowKey: Window] = [:]
        /// The most recent last.
        var packs: [PackID] = []
        var uses: UInt64 = 0
    }

    private enum Part {
        case ownGet
        case present([UInt8])
        case wait
        case fetch
    }

    let packs: PackStore
    private let state = Mutex(State())

    package init(packs: PackStore) { self.packs = packs }

    /// - Parameter range: Byte offsets in the pack.
    /// - Returns: The bytes, not verified; `nil` when the caller should fetch the range itself.
    func bytes(of pack: PackID, _ range: Range<Int64>) async throws(StoreError) -> ArraySlice<UInt8>? {
        let index = range.lowerBound / Self.windowByteCount
        let start = index * Self.windowByteCount
        guard Int64(range.count) <= Self.rangeByteLimit, range.upperBound <= start + Self.windowByteCount else {
            return nil
        }
        let place = WindowKey(pack: pack, index: index)
        let window: [UInt8]?
        switch state.withLock({ Self.next(place, &$0) }) {
        case .ownGet: return nil
        case .present(let bytes): window = bytes
        case .wait: window = await arrival(of: place)
        case .fetch: window = try await fetch(place, from: start)
        }
        guard let window, window.count >= range.upperBound - start else { return nil }
        return window[Int(range.lowerBound - start)..<Int(range.upperBound - start)]
    }

    private static func next(_ place: WindowKey, _ state: inout State) -> Part {
        state.uses += 1
        switch state.windows[place] {
        case .present(let bytes, _):
            state.windows[place] = .present(bytes, lastUse: state.uses)
            return .present(bytes)
        case .fetching:
            return .wait
        case nil:
            guard state.packs.contains(place.pack) else {
                state.packs.append(place.pack)
                if state.packs.count > packLimit { state.packs.removeFirst() }
                return .ownGet
            }
            state.windows[place] = .fetching([])
            return .fetch
        }
    }

    private func arrival(of place: WindowKey) async -> [UInt8]? {
        await withCheckedContinuation { continuation in
            let answer: [UInt8]?? = state.withLock { state in
                switch state.windows[place] {
                case .fetching(let waiters):
                    state.windows[place] = .fetching(waiters + [continuation])
                    return nil
                case .present(let bytes, _): return .some(bytes)
                case nil: return .some(nil)
                }
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    private func fetch(_ place: WindowKey, from start: Int64) async throws(StoreError) -> [UInt8] {
        do throws(StoreError) {
            let stream = try await packs.get(place.pack, range: start..<start + Self.windowByteCount)
            let bytes = try await stream.collect(upTo: Int(Self.windowByteCount))
            finish(place, bytes)
            return bytes
        } catch {
            finish(place, nil)
            throw error
        }
    }

    private func finish(_ place: WindowKey, _ bytes: [UInt8]?) {
        let waiters = state.withLock { state -> [CheckedContinuation<[UInt8]?, Never>] in
            defer {
                state.uses += 1
                state.windows[place] = bytes.map { .present($0, lastUse: state.uses) }
                Self.trim(&state)
            }
            guard case .fetching(let waiters)? = state.windows[place] else { return [] }
            return waiters
        }
        for waiter in waiters { waiter.resume(returning: bytes) }
    }

    private static func trim(_ state: inout State) {
        var present: [(place: WindowKey, lastUse: UInt64)] = []
        for (place, window) in state.windows {
            if case .present(_, let lastUse) = window { present.append((place, lastUse)) }
        }
        guard present.count > windowLimit, let oldest = present.min(by: { $0.lastUse < $1.lastUse }) else { return }
        state.windows[oldest.place] = nil
    }
}
