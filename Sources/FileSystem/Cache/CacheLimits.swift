/// How much downloaded bytes may take, and how much of the disk they leave free.
package struct CacheLimits: Hashable, Sendable {
    package enum FreeSpace: Hashable, Sendable {
        case bytes(Int64)
        /// Of the whole disk: 1 to 90.
        case percent(Int)
    }

    /// How far below a limit it goes once it is passed, so that not every file that comes makes another one go.
    static let lowWaterPercent: Int64 = 90

    /// Bytes of all files that are here; `nil` for no limit.
    package var byteLimit: Int64?
    /// What is to stay free on the disk of the state; `nil` for nothing.
    package var freeSpace: FreeSpace?

    package init(byteLimit: Int64? = nil, freeSpace: FreeSpace? = nil) {
        self.byteLimit = byteLimit
        self.freeSpace = freeSpace
    }

    var isSet: Bool { byteLimit != nil || freeSpace != nil }

    /// How many bytes must stay free of a disk of `diskByteCount`.
    func freeByteFloor(of diskByteCount: Int64) -> Int64? {
        switch freeSpace {
        case .bytes(let count): count
        case .percent(let percent): diskByteCount / 100 * Int64(percent)
        case nil: nil
        }
    }

    /// How many bytes must go; 0 while all is as it should be.
    ///
    /// - Parameters:
    ///   - held: What files that are here, and downloads under way, take.
    ///   - free: What is free on the disk, of `diskByteCount` in all.
    func excess(held: Int64, free: Int64, of diskByteCount: Int64) -> Int64 {
        var excess: Int64 = 0
        if let byteLimit, held > byteLimit { excess = held - byteLimit / 100 * Self.lowWaterPercent }
        if let floor = freeByteFloor(of: diskByteCount), free < floor {
            excess = max(excess, floor + floor / 100 * (100 - Self.lowWaterPercent) - free)
        }
        return excess
    }
}

/// How soon the cache is looked at again: a pure decision.
struct CachePace: Equatable {
    /// At least this long lies between two looks, whatever happens.
    static let start = Duration.seconds(1)
    /// How often it is looked when nothing happens: others fill the disk too.
    static let limit = Duration.seconds(30)

    /// Doubles while not enough can go: what is in the way is in the way for about as long again.
    private(set) var spacing = CachePace.start

    mutating func looked(isEnough: Bool) {
        spacing = isEnough ? Self.start : min(spacing * 2, Self.limit)
    }
}
