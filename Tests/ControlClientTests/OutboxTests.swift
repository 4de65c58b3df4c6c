import Testing

@testable import ControlClient

@Suite(.timeLimit(.minutes(1))) struct OutboxTests {
    /// - Returns: What was taken.
    private static func take(_ byteCount: Int, from outbox: inout Outbox) -> [UInt8] {
        var taken: [UInt8] = []
        outbox.send { bytes in
            taken = Array(bytes.prefix(byteCount))
            return taken.count
        }
        return taken
    }

    @Test func `bytes are sent in order, however many are taken at a time`() {
        var outbox = Outbox()
        var (queued, sent): ([UInt8], [UInt8]) = ([], [])
        for round in 0..<500 {
            let more = (0..<(round * 7 % 50)).map { UInt8(truncatingIfNeeded: round &+ $0) }
            outbox.append(more)
            queued += more
            if !outbox.isEmpty { sent += Self.take(round * 13 % 41, from: &outbox) }
            #expect(outbox.byteCount == queued.count - sent.count)
        }
        while !outbox.isEmpty { sent += Self.take(100, from: &outbox) }
        #expect(sent == queued)
    }

    @Test func `a request goes out before what was queued for it`() {
        var outbox = Outbox()
        outbox.append([3, 4])
        outbox.prepend([1, 2])
        #expect(Self.take(10, from: &outbox) == [1, 2, 3, 4])
    }

    /// Moving the rest each time would take minutes.
    @Test func `a daemon that takes little at a time does not make a full outbox slow`() {
        var outbox = Outbox()
        outbox.append([UInt8](repeating: 7, count: ControlConnection.outboxByteLimit))
        var count = 0
        while !outbox.isEmpty { count += Self.take(1 << 10, from: &outbox).count }
        #expect(count == ControlConnection.outboxByteLimit)
    }
}
