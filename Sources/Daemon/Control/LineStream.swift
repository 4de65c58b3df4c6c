import ControlAPI
import Foundation
import Hummingbird
import Model
import NIOCore
import ServiceLifecycle

/// A stream of events to a client, as lines of JSON, while it is connected.
///
/// Senders never wait: a client that does not read is disconnected when ``lineLimit`` lines are queued for it.
struct LineStream<Event: Encodable & Sendable>: Sendable {
    private let events: AsyncStream<Event>
    private let continuation: AsyncStream<Event>.Continuation

    /// The most events queued for one client.
    static var lineLimit: Int { 8192 }

    init() {
        (events, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.lineLimit))
    }

    func send(_ event: Event) {
        if case .dropped = continuation.yield(event) { continuation.finish() }
    }

    /// Ends after the events sent so far.
    func finish() { continuation.finish() }

    /// Writes until ``finish()``, until the client is too slow, until the daemon ends, or until the task is cancelled.
    func write(to writer: inout any ResponseBodyWriter) async throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        try await withGracefulShutdownHandler {
            for await event in events {
                var line = ByteBuffer(bytes: try encoder.encode(event))
                line.writeInteger(UInt8(ascii: "\n"))
                try await writer.write(line)
            }
        } onGracefulShutdown: { [continuation] in
            continuation.finish()
        }
    }
}

/// Joins arriving pieces into lines.
struct LineReader {
    private var rest: [UInt8] = []
    private let byteLimit: Int

    init(byteLimit: Int) { self.byteLimit = byteLimit }

    /// - Returns: The lines that the piece completes, without line ends; empty ones are left out.
    /// - Throws: ``FileError`` with `tooLarge` for a line beyond the limit.
    mutating func lines(adding piece: ByteBuffer) throws(FileError) -> [Data] {
        rest += piece.readableBytesView
        var lines: [Data] = []
        var start = rest.startIndex
        while let end = rest[start...].firstIndex(of: UInt8(ascii: "\n")) {
            if end > start { lines.append(Data(rest[start..<end])) }
            start = end + 1
        }
        rest.removeSubrange(..<start)
        guard rest.count <= byteLimit else { throw FileError(.tooLarge, "a line has at most \(byteLimit >> 10) KiB") }
        return lines
    }

    /// The last line, if it had no line end.
    mutating func last() -> Data? {
        defer { rest = [] }
        return rest.isEmpty ? nil : Data(rest)
    }
}
