// AsyncAlgorithms has the operator under a name with an underscore.
extension AsyncSequence where Self: Sendable, Element: Sendable {
    /// At most one element in each interval: the last one of it, or the first.
    public func throttle(
        for interval: Duration, latest: Bool = true
    ) -> _AsyncThrottleSequence<Self, ContinuousClock, Element> {
        _throttle(for: interval, latest: latest)
    }

    /// At most one element in each interval of a clock: the last one of it, or the first.
    public func throttle<C: Clock>(
        for interval: C.Instant.Duration, clock: C, latest: Bool = true
    ) -> _AsyncThrottleSequence<Self, C, Element> {
        _throttle(for: interval, clock: clock, latest: latest)
    }
}

// AsyncAlgorithms has `debounce` and `throttle` for sequences of Sendable elements, and Notification is none.
extension NotificationCenter.Notifications {
    /// The last notification of each burst, when no other has come for that time.
    public func debounce(for interval: Duration, tolerance: Duration? = nil) -> Paced {
        let stream = stream
        return Paced {
            Source(stream.debounce(for: interval, tolerance: tolerance).makeAsyncIterator()) { @concurrent iterator in
                await iterator.next()
            }.next
        }
    }

    /// At most one notification in each interval: the last one of it, or the first.
    public func throttle(for interval: Duration, latest: Bool = true) -> Paced {
        let stream = stream
        return Paced {
            Source(stream._throttle(for: interval, latest: latest).makeAsyncIterator()) { @concurrent iterator in
                await iterator.next()
            }.next
        }
    }

    /// Notifications at a lower rate; see ``debounce(for:tolerance:)`` and ``throttle(for:latest:)``.
    public struct Paced: AsyncSequence, @unchecked Sendable {
        // Unchecked, since Notification is not declared Sendable although it is only read.
        /// A posted notification.
        public typealias Element = Notification
        /// It never fails.
        public typealias Failure = Never

        let begin: @Sendable () -> @Sendable () async -> Posted?

        /// Begins an iteration.
        public func makeAsyncIterator() -> Iterator { Iterator(nextPosted: begin()) }

        /// The state of an iteration.
        public struct Iterator: AsyncIteratorProtocol {
            let nextPosted: @Sendable () async -> Posted?

            /// Waits for the next notification; `nil` once the task is cancelled.
            public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> Notification? {
                await nextPosted()?.notification
            }

            /// Waits for the next notification; `nil` once the task is cancelled.
            public mutating func next() async -> Notification? { await nextPosted()?.notification }
        }
    }

    /// Carries an iterator to where its elements are awaited.
    private final class Source<Base>: @unchecked Sendable {
        // Unchecked: the iterator of one loop, which asks for one element at a time.
        private var base: Base
        private let advance: @concurrent @Sendable (inout Base) async -> Posted?

        init(_ base: Base, _ advance: @escaping @concurrent @Sendable (inout Base) async -> Posted?) {
            self.base = base
            self.advance = advance
        }

        @concurrent @Sendable func next() async -> Posted? { await advance(&base) }
    }
}
