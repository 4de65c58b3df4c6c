/// How many packs are sent at a time: a pure value.
///
/// One connection fills neither a fast link that is far away nor a service that limits each of them; too many on a slow
/// link leave more to be sent again when the process ends. So at least what the link carries in ``span`` is being sent:
/// two packs on a slow link, eight on a fast one, as soon as the first has arrived. From there the width is tried out,
/// one step after ``heldRounds`` rounds, to either side in turns:
///
///     wider    ── a round at least ``gain`` faster ──▶ wider, one more
///     wider    ── a round that is not ───────────────▶ one less, and held
///     narrower ── a round that is as fast ───────────▶ narrower, one less
///     narrower ── a round that is not ───────────────▶ one more, and held
///
/// A round is as many packs as the window is wide, sent while it was full.
package struct SendWindow: Hashable, Sendable {
    /// The fewest and the most packs that are sent at a time.
    package static let widths = 2...8
    /// The bytes of the packs that are being sent, and of the one that is being filled meanwhile: 96 MiB.
    package static let byteLimit = 96 << 20
    /// How long the link is to be busy with what is being sent.
    static let span = Duration.seconds(2)
    /// How much faster a wider window must be to stay.
    static let gain = 1.1
    /// How many rounds pass before another width is tried.
    static let heldRounds = 4

    package private(set) var width = widths.lowerBound
    /// What the link carries in a second, in bytes; `nil` before the first pack.
    private var rate: Double?
    /// The same at the end of the last round; `nil` when the next one has nothing to be compared with.
    private var lastRate: Double?
    /// How many packs of this round were sent.
    private var count = 0
    /// How many rounds are left in which the width stays.
    private var heldCount = 0
    /// The last step.
    private var step = 1

    package init() {}

    /// Whether another pack may be sent.
    ///
    /// - Parameters:
    ///   - byteCount: Of the pack, with the copies of it that a store holds. One that alone is beyond the limit goes when
    ///     no other is being sent.
    ///   - sending: The packs that are being sent: how many, and their bytes.
    ///   - packByteLimit: At most so many bytes are in the pack that is filled meanwhile.
    func admits(byteCount: Int, sending: (count: Int, byteCount: Int), packByteLimit: Int) -> Bool {
        guard sending.count > 0 else { return true }
        return sending.count < width && sending.byteCount + byteCount + packByteLimit <= Self.byteLimit
    }

    /// A pack was sent.
    ///
    /// - Parameters:
    ///   - byteCount: Its length.
    ///   - duration: How long it was being sent.
    ///   - sendingCount: How many were being sent with it, itself among them.
    mutating func sent(byteCount: Int, within duration: Duration, among sendingCount: Int) {
        let seconds = duration / .seconds(1)
        guard byteCount > 0, seconds > 0 else { return }
        let now = Double(byteCount) / seconds * Double(sendingCount)
        // One that was slow or fast by chance moves it by half.
        let rate = rate.map { ($0 + now) / 2 } ?? now
        self.rate = rate
        let most = Double(Self.widths.upperBound)
        let least = Int(
            max(Double(Self.widths.lowerBound), min(most, rate * (Self.span / .seconds(1)) / Double(byteCount))))
        if width < least {
            width = least
            (count, heldCount, step, lastRate) = (0, 0, 1, nil)
        } else if sendingCount == width {
            count += 1
            if count == width { endRound(rate, least...Self.widths.upperBound) }
        }
    }

    /// A pack could not be sent.
    package mutating func fail() { self = SendWindow() }

    private mutating func endRound(_ rate: Double, _ widths: ClosedRange<Int>) {
        count = 0
        defer { lastRate = rate }
        if heldCount > 0 {
            heldCount -= 1
            if heldCount == 0 { go(-step, within: widths) }
            return
        }
        let pays = lastRate.map { step > 0 ? rate >= $0 * Self.gain : rate >= $0 / Self.gain } ?? true
        if pays {
            go(step, within: widths)
        } else {
            width = min(max(width - step, widths.lowerBound), widths.upperBound)
            heldCount = Self.heldRounds
        }
    }

    /// Where there is no way in that direction, the width is held.
    private mutating func go(_ step: Int, within widths: ClosedRange<Int>) {
        self.step = step
        if widths.contains(width + step) { width += step } else { heldCount = Self.heldRounds }
    }
}
