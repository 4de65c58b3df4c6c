/// A simulated bad link to a store.
package struct LinkCondition: Hashable, Sendable, Codable {
    /// From a request to the first byte of its response.
    package var delay: Duration
    /// Shared by all downloads; `nil` for no limit, else at least 1.
    package var downBytesPerSecond: Int64?
    /// Shared by all uploads; `nil` for no limit, else at least 1.
    package var upBytesPerSecond: Int64?
    /// The percentage of lost requests, 0 to 100; at 100 the store is unreachable.
    package var lossPercent: Double
    /// What the first request in each ``lookupLife`` takes in addition: the lookup of a name.
    package var lookupDelay: Duration

    package init(
        delay: Duration = .zero, downBytesPerSecond: Int64? = nil, upBytesPerSecond: Int64? = nil,
        lossPercent: Double = 0, lookupDelay: Duration = .zero
    ) {
        self.delay = delay
        self.downBytesPerSecond = downBytesPerSecond
        self.upBytesPerSecond = upBytesPerSecond
        self.lossPercent = lossPercent
        self.lookupDelay = lookupDelay
    }

    /// How long a looked up name is known: a minute, as is usual for the names of stores.
    package static let lookupLife = Duration.seconds(60)

    package static let unconditioned = LinkCondition()
}
