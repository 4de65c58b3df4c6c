import Model

/// When the log is looked at because of a hint: a pure decision. So a flood of hints, true or forged, costs no more than
/// one look in a second once the first few have found nothing. Instants are since boot.
struct HintPace {
    /// How many looks may find nothing: another one found the commit before, say.
    static let falseLimit = 5
    /// The pause after a further one that finds nothing: one second.
    static let pause = Duration.seconds(1)

    private var falseCount = 0
    /// No look before that.
    private var notBefore: Duration?
    /// Whether the look that is under way was asked for.
    private var isHintedLook = false
    private(set) var isLookDue = false

    /// There may be a commit that is not applied.
    ///
    /// - Returns: After how long the log is to be looked at; `nil` when that is coming anyway.
    mutating func hinted(now: Duration) -> Duration? {
        guard !isLookDue else { return nil }
        isLookDue = true
        return max(.zero, (notBefore ?? now) - now)
    }

    /// A look begins, for whatever reason.
    mutating func lookBegins() { (isHintedLook, isLookDue) = (isLookDue, false) }

    mutating func looked(found: Bool, now: Duration) {
        guard isHintedLook || found else { return }
        falseCount = found ? 0 : min(falseCount + 1, Self.falseLimit)
        notBefore = falseCount == Self.falseLimit ? now + Self.pause : nil
    }
}
