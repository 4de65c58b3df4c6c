/// The conditions of the link to a store: the link conditioner, as `dewpoint link` sets and shows it.
package struct LinkSettings: Hashable, Sendable, Codable {
    /// The ``LinkProfile`` that they come from; `nil` for figures of the user's own.
    package var profile: String?
    /// From a request to the first byte of its answer, 0 to ``delayLimit``.
    package var delayMilliseconds: Int64
    /// Shared by all downloads, 1 to ``rateLimit``; `nil` for no limit.
    package var downKiBPerSecond: Int64?
    /// Shared by all uploads, 1 to ``rateLimit``; `nil` for no limit.
    package var upKiBPerSecond: Int64?
    /// The share of requests that fail as with a lost connection, 0 to 100; at 100 as offline.
    package var lossPercent: Double
    /// What a request takes in addition once a minute, as for a name that is looked up anew; `nil` for nothing.
    package var lookupMilliseconds: Int64?
    /// Whether they come from the mount's options, and hold for its next mount too; `nil` in a request.
    package var isLasting: Bool?

    package init(
        profile: String? = nil, delayMilliseconds: Int64 = 0, downKiBPerSecond: Int64? = nil,
        upKiBPerSecond: Int64? = nil, lossPercent: Double = 0, lookupMilliseconds: Int64? = nil, isLasting: Bool? = nil
    ) {
        self.profile = profile
        self.delayMilliseconds = delayMilliseconds
        self.downKiBPerSecond = downKiBPerSecond
        self.upKiBPerSecond = upKiBPerSecond
        self.lossPercent = lossPercent
        self.lookupMilliseconds = lookupMilliseconds
        self.isLasting = isLasting
    }

    /// The longest delay: a minute.
    package static let delayLimit: Int64 = 60_000
    /// The highest limit of a rate, in KiB per second.
    package static let rateLimit: Int64 = 1_000_000_000

    /// Whether the link is as it is.
    package var isUnchanged: Bool {
        delayMilliseconds == 0 && downKiBPerSecond == nil && upKiBPerSecond == nil && lossPercent == 0
            && (lookupMilliseconds ?? 0) == 0
    }

    /// Why the settings are out of range, in a sentence; `nil` when they are in range.
    package var fault: String? {
        guard 0...Self.delayLimit ~= delayMilliseconds, 0...Self.delayLimit ~= lookupMilliseconds ?? 0 else {
            return "a delay is 0 to \(Self.delayLimit) milliseconds"
        }
        for rate in [downKiBPerSecond, upKiBPerSecond].compactMap(\.self) where !(1...Self.rateLimit ~= rate) {
            return "a rate is 1 to \(Self.rateLimit) KiB per second, not \(rate); without one there is no limit"
        }
        return 0...100 ~= lossPercent ? nil : "the loss is 0 to 100 percent"
    }

    /// For example `LTE: delay 115 ms, 6104 KiB/s down, 1221 KiB/s up`.
    package var text: String {
        var parts: [String] = []
        if delayMilliseconds > 0 { parts.append("delay \(delayMilliseconds) ms") }
        if let downKiBPerSecond { parts.append("\(downKiBPerSecond) KiB/s down") }
        if let upKiBPerSecond { parts.append("\(upKiBPerSecond) KiB/s up") }
        if lossPercent > 0 { parts.append("\(lossPercent.formattedPercent) of requests lost") }
        if let lookupMilliseconds, lookupMilliseconds > 0 { parts.append("lookups take \(lookupMilliseconds) ms") }
        let figures = parts.isEmpty ? "not limited" : parts.joined(separator: ", ")
        return profile.map { "\($0): \(figures)" } ?? figures
    }
}

extension Double {
    fileprivate var formattedPercent: String { (Int(exactly: self).map(String.init) ?? "\(self)") + "%" }
}
