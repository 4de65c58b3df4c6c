/// What happens to a write that had not been flushed when the power went.
enum Fate {
    case kept
    case lost
    /// Some of its sectors are there.
    case torn(Set<Int>)
}

/// Decides the fate of each write that was not flushed, by seed.
struct Cut {
    /// What a disk writes whole, in bytes.
    static let sectorBytes = 512

    private enum Way {
        /// As a disk without a cache, that had all but the very last writes.
        case inOrder(kept: Int)
        /// As a disk that writes in any order.
        case anyOrder(share: Double)
    }

    private var generator: SplitMix
    private let way: Way

    /// - Parameter count: How many writes had not been flushed.
    init(seed: UInt64, count: Int) {
        generator = SplitMix(state: seed)
        switch UInt64.random(in: 0..<4, using: &generator) {
        case 0: way = .anyOrder(share: 0)
        case 1: way = .inOrder(kept: Int.random(in: 0...count, using: &generator))
        default: way = .anyOrder(share: Double.random(in: 0...1, using: &generator))
        }
    }

    /// - Parameter index: Which of the writes it is, in the order in which they came.
    mutating func fate(of index: Int, byteCount: Int) -> Fate {
        switch way {
        case .inOrder(let kept):
            if index != kept { return index < kept ? .kept : .lost }
        case .anyOrder(let share):
            if Double.random(in: 0..<1, using: &generator) < share { return .kept }
            guard share > 0, Int.random(in: 0..<4, using: &generator) == 0 else { return .lost }
        }
        let sectors = 0..<(byteCount / Self.sectorBytes)
        return .torn(Set(sectors.filter { _ in Bool.random(using: &generator) }))
    }
}

/// Sebastiano Vigna's SplitMix64: the same numbers for the same seed, everywhere.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
