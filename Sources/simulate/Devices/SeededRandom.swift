/// Random numbers that are reproducible by seed: SplitMix64 (Steele, Lea, Flood 2014).
struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// - Parameter stream: The name of the stream: each part of a simulation has its own, so that an additional draw in
    ///   one of them does not change the others.
    init(seed: UInt64, stream: String) {
        state = Fingerprint(of: "\(seed) \(stream)").value
    }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    /// Whether an event happens that has a share of all cases, 0 to 1.
    mutating func happens(_ share: Double) -> Bool { Double(next() >> 11) * 0x1p-53 < share }

    mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self) }

    mutating func pick<Element>(_ elements: [Element]) -> Element { elements[number(0...elements.count - 1)] }

    mutating func milliseconds(_ range: ClosedRange<Int>) -> Duration { .milliseconds(number(range)) }
}

/// FNV-1a of 64 bits: for distinguishing runs and contents, not for security.
struct Fingerprint {
    private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

    init() {}

    init(of text: String) { add(text) }

    mutating func add(_ text: String) {
        for byte in text.utf8 { value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
    }

    mutating func add(_ word: UInt64) {
        for shift in stride(from: 0, to: 64, by: 8) {
            value = (value ^ ((word >> UInt64(shift)) & 0xff)) &* 0x0000_0100_0000_01b3
        }
    }
}
