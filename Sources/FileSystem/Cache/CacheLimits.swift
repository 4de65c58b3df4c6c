/// Limits on downloaded bytes, and on the disk space that they leave free.
package struct CacheLimits: Hashable, Sendable {
    package enum FreeSpace: Hashable, Sendable {
        case bytes(Int64)
        /// Of the whole disk: 1 to 90.
        case percent(Int)
    }

    /// How far below an exceeded limit eviction goes, so that not every new file causes another eviction.
    static let lowWaterPercent: Int64 = 90

    /// Bytes of all local files; `nil` for no limit.
    package var byteLimit: Int64?
    /// The space to keep free on the disk of the state; `nil` for none.
    package var freeSpace: FreeSpace?
    /// How long a file may go without use before it is evicted, whatever the other limits; `nil`: for ever.
    package var evictAfter: Duration?
    /// How recently a file must have been used for the other limits not to evict it; `nil`: all may be. A full disk does.
    package var keepRecent: Duration?

    package init(
        byteLimit: Int64? = nil, freeSpace: FreeSpace? = nil, evictAfter: Duration? = nil, keepRecent: Duration? = nil
    ) {
        self.byteLimit = byteLimit
        self.freeSpace = freeSpace
        self.evictAfter = evictAfter
        self.keepRecent = keepRecent
    }

    var isSet: Bool { byteLimit != nil || freeSpace != nil || evictAfter != nil }

    /// How often the times of last use are compared with ``evictAfter``, which is exact to a sixteenth of itself.
    static func unusedSpacing(_ evictAfter: Duration) -> Duration {
        min(max(evictAfter / 16, CachePace.start), .seconds(3600))
    }

    /// How many bytes must stay free on a disk of `diskByteCount`.
    func freeByteFloor(of diskByteCount: Int64) -> Int64? {
        switch freeSpace {
        case .bytes(let count): count
        case .percent(let percent): diskByteCount / 100 * Int64(percent)
        case nil: nil
        }
    }

    /// How many more bytes there may be for nothing to be evicted, even after the next eviction; negative beyond that.
    ///
    /// - Parameters: As those of ``excess(held:free:of:)``.
    func room(held: Int64, free: Int64, of diskByteCount: Int64) -> Int64 {
        var room = free
        if let byteLimit { room = min(room, byteLimit / 100 * Self.lowWaterPercent - held) }
        if let floor = freeByteFloor(of: diskByteCount) {
            room = min(room, free - floor - floor / 100 * (100 - Self.lowWaterPercent))
        }
        return room
    }

    /// How many bytes must be evicted; 0 while within the limits.
    ///
    /// - Parameters:
    ///   - held: The bytes of local files and of downloads under way.
    ///   - free: The free bytes of the disk, of `diskByteCount` in all.
    func excess(held: Int64, free: Int64, of diskByteCount: Int64) -> Int64 {
        var excess: Int64 = 0
        if let byteLimit, held > byteLimit { excess = held - byteLimit / 100 * Self.lowWaterPercent }
        if let floor = freeByteFloor(of: diskByteCount), free < floor {
            excess = max(excess, floor + floor / 100 * (100 - Self.lowWaterPercent) - free)
        }
        return excess
    }
}

/// When the cache is checked next: a pure decision.
struct CachePace: Equatable {
    /// The shortest time between two checks.
    static let start = Duration.seconds(1)
    /// The longest time between two checks: other programs fill the disk too.
    static let limit = Duration.seconds(30)

    /// Doubles while not enough can be evicted: an obstacle is likely to last about as long again.
    private(set) var spacing = CachePace.start

    mutating func looked(isEnough: Bool) {
        spacing = isEnough ? Self.start : min(spacing * 2, Self.limit)
    }
}
