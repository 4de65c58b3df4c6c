/// How bad the link to a store is made on purpose.
package struct LinkCondition: Hashable, Sendable, Codable {
    /// From a request to the first byte of its answer.
    package var delay: Duration
    /// What all downloads share; `nil` for no limit, else at least 1.
    package var downBytesPerSecond: Int64?
    /// What all uploads share; `nil` for no limit, else at least 1.
    package var upBytesPerSecond: Int64?
    /// How many of a hundred requests come to nothing, 0 to 100; at 100 the store is out of reach.
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
