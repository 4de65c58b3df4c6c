import Remote
import Synchronization

/// Opens segments as they arrive: what it passes on was verified.
final class SegmentStream: Sendable {
    private struct State {
        var buffer: [UInt8]
        /// How much of the buffer was opened.
        var used = 0
        var next: Int64
        /// How many bytes of the next segment are before the range.
        var skipped: Int64
        var remaining: Int64
        /// Once the source has none, nothing may be missing or left over.
        var isAtEnd = false
    }

    private let source: ByteStream
    private let header: SealedHeader
    private let key: String
    private let end: Int64
    private let state: Mutex<State>

    /// - Parameters:
    ///   - source: The segments from `segments.lowerBound` on.
    ///   - segments: Those of the object that were requested; all of them are read, even if the range ends before.
    ///   - range: Of the object's bytes, clipped to its length, within those segments.
    ///   - start: What came before the source.
    init(
        _ source: ByteStream, _ header: SealedHeader, segments: Range<Int64>, range: Range<Int64>, key: String,
        start: [UInt8] = []
    ) {
        self.source = source
        self.header = header
        self.key = key
        end = min(segments.upperBound, header.layout.segmentCount)
        state = Mutex(
            State(
                buffer: start, next: segments.lowerBound,
                skipped: range.lowerBound - segments.lowerBound * SealedLayout.segmentByteCount,
                remaining: Int64(range.count)))
    }

    /// The next bytes, not empty; `nil` at the end.
    func pull() async throws(StoreError) -> [UInt8]? {
        while true {
            // Closures passed through a rethrowing call lose the error's type, hence the Result.
            let opened = state.withLock { state in Result { () throws(StoreError) in try open(&state) } }
            if let piece = try opened.get() { return piece }
            if state.withLock({ $0.isAtEnd }) { return nil }
            let piece = try await source.next()
            let isOver = state.withLock { state in
                guard let piece else {
                    state.isAtEnd = true
                    return state.next < end
                }
                if state.used == state.buffer.count {
                    state.buffer = piece
                } else {
                    if state.used > 0 { state.buffer.removeFirst(state.used) }
                    state.buffer += piece
                }
                state.used = 0
                return state.next == end
            }
            // Cut, or continued.
            if isOver { throw SegmentCipher.damage(key) }
        }
    }

    /// - Returns: `nil` when more bytes must arrive first.
    private func open(_ state: inout State) throws(StoreError) -> [UInt8]? {
        while state.next < end {
            let count = Int(header.layout.byteCount(ofSegment: state.next) + SealedLayout.tagByteCount)
            guard state.buffer.count - state.used >= count else { return nil }
            let sealed = state.buffer[state.used..<state.used + count]
            let isLast = state.next == header.layout.segmentCount - 1
            let plain = try header.cipher.open(sealed, .segment(state.next, isLast: isLast), key: key)
            state.used += count
            state.next += 1
            let wanted = plain.dropFirst(Int(state.skipped)).prefix(Int(min(state.remaining, Int64(plain.count))))
            state.skipped = 0
            state.remaining -= Int64(wanted.count)
            if !wanted.isEmpty { return wanted.count == plain.count ? plain : Array(wanted) }
        }
        // Nothing may follow the last one.
        if state.buffer.count > state.used { throw SegmentCipher.damage(key) }
        return nil
    }
}
