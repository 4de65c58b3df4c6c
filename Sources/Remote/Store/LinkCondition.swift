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

    package init(
        delay: Duration = .zero, downBytesPerSecond: Int64? = nil, upBytesPerSecond: Int64? = nil,
        lossPercent: Double = 0
    ) {
        self.delay = delay
        self.downBytesPerSecond = downBytesPerSecond
        self.upBytesPerSecond = upBytesPerSecond
        self.lossPercent = lossPercent
    }

    package static let unconditioned = LinkCondition()
}
