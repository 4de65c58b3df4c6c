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
