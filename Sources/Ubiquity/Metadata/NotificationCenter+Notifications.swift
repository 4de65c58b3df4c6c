extension NotificationCenter {
    /// The notifications of a name as an asynchronous sequence, from the call on.
    ///
    /// Observed until the iterator is released. At most ``Notifications/bufferLimit`` notifications wait for the
    /// reader; beyond that the oldest are dropped.
    /// - Parameter object: Only notifications of this sender; `nil` for those of all senders.
    public func notifications(named name: Notification.Name, object: AnyObject? = nil) -> Notifications {
        Notifications(center: self, name: name, object: object)
    }

    /// See ``Foundation/NotificationCenter/notifications(named:object:)``.
    public struct Notifications: AsyncSequence, @unchecked Sendable {
        // Unchecked, since Notification is not declared Sendable although it is only read, as with Apple's.
        /// A posted notification.
        public typealias Element = Notification
        /// It never fails.
        public typealias Failure = Never

        /// How many notifications wait for a slow reader.
        public static let bufferLimit = 1024

        let stream: AsyncStream<Posted>

        /// Carries a notification from the thread that posts it to the reader.
        struct Posted: @unchecked Sendable {
            // Unchecked: handed over once.
            let notification: Notification
        }

        /// Carries the token of the observer to the end of the stream.
        private struct Observer: @unchecked Sendable {
            // Unchecked: NotificationCenter is safe to use from any thread, and the token is only handed back to it.
            let center: NotificationCenter
            let token: any NSObjectProtocol
        }

        fileprivate init(center: NotificationCenter, name: Notification.Name, object: AnyObject?) {
            let (stream, continuation) = AsyncStream.makeStream(
                of: Posted.self, bufferingPolicy: .bufferingNewest(Self.bufferLimit))
            let token = center.addObserver(forName: name, object: object, queue: nil) { notification in
                continuation.yield(Posted(notification: notification))
            }
            let observer = Observer(center: center, token: token)
            continuation.onTermination = { _ in observer.center.removeObserver(observer.token) }
            self.stream = stream
        }

        /// Begins an iteration.
        public func makeAsyncIterator() -> Iterator { Iterator(base: stream.makeAsyncIterator()) }

        /// The state of an iteration.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate var base: AsyncStream<Posted>.Iterator

            /// Waits for the next notification; `nil` once the task is cancelled.
            public mutating func next(
                isolation actor: isolated (any Actor)? = #isolation
            ) async -> Notification? {
                await base.next(isolation: actor)?.notification
            }

            /// Waits for the next notification; `nil` once the task is cancelled.
            public mutating func next() async -> Notification? { await base.next(isolation: #isolation)?.notification }
        }
    }
}
