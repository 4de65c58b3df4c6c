import ControlAPI
package import Model

/// The events of an item and of everything below it, until the daemon exits or the caller's task is cancelled.
///
/// The first element is ``ItemNews/Event/following``; no event after it is missed.
package struct ItemEvents: AsyncSequence {
    let stream: BodyStream

    package func makeAsyncIterator() -> Iterator { Iterator(stream: stream) }

    package struct Iterator: AsyncIteratorProtocol {
        private let stream: BodyStream
        private var lines = LineReader.ofDaemon

        init(stream: BodyStream) { self.stream = stream }

        /// - Returns: `nil` when the daemon has shut down cleanly.
        /// - Throws: ``ControlError/daemonUnreachable(_:)`` when it is gone, ``ControlError/cancelled`` with the
        ///   caller's task.
        package mutating func next() async throws(ControlError) -> ItemNews? {
            while true {
                if let news = try lines.next(ItemNews.self) { return news }
                guard let bytes = try await stream.next() else { return nil }
                lines.append(bytes)
            }
        }
    }
}
