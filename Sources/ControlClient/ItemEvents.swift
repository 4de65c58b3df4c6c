import AsyncHTTPClient
import ControlAPI
package import Model

/// The events of an item and of everything below it, until the daemon exits or the caller's task is cancelled.
///
/// The first element is ``ItemNews/Event/following``; no event after it is missed.
package struct ItemEvents: AsyncSequence {
    let response: HTTPClientResponse

    package func makeAsyncIterator() -> Iterator { Iterator(body: response.body.makeAsyncIterator()) }

    package struct Iterator: AsyncIteratorProtocol {
        var body: HTTPClientResponse.Body.AsyncIterator
        private var lines = LineReader.ofDaemon

        init(body: HTTPClientResponse.Body.AsyncIterator) { self.body = body }

        /// - Returns: `nil` when the daemon has shut down cleanly.
        /// - Throws: ``ControlError/daemonUnreachable(_:)`` when it is gone, ``ControlError/cancelled`` with the
        ///   caller's task.
        package mutating func next() async throws(ControlError) -> ItemNews? {
            while true {
                if let news = try lines.next(ItemNews.self) { return news }
                let bytes: HTTPClientResponse.Body.Element?
                do {
                    bytes = try await body.next(isolation: #isolation)
                } catch {
                    throw ControlClient.controlError(error)
                }
                guard let bytes else { return nil }
                lines.append(bytes)
            }
        }
    }
}
