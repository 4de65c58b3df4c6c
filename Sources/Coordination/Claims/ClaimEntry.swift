/// A claim set on its way through the table.
///
/// ```
///             nobody before it        all have answered          bytes are here
///  in line ─────────────────▶ messaging ──────────────▶ downloading ───────────▶ cleared
///     (waiting)                  │                         │                        │ nobody holds what it needs
///                                ▼ an error                ▼                        ▼   turns ended, sharers quiet
///                              failed                   failed                  settling ───────────▶ granted
/// ```
/// From settling on it holds: no other set that conflicts does, and plain writers stay behind it. In every state it
/// may be cancelled, revoked, or reach its deadline; only the granted one is released.
struct ClaimEntry: Sendable {
    enum Phase: Int, Sendable, Comparable {
        case inLine, messaging, downloading, cleared, settling, granted

        static func < (left: Phase, right: Phase) -> Bool { left.rawValue < right.rawValue }
    }

    /// As requested, but that its items follow moves.
    var set: ClaimSet
    /// Its place in the order of all requests, turns of plain writers included.
    let number: UInt64
    let since: Instant
    var phase = Phase.inLine
    /// What presenters are still to be asked, after they have answered what they were asked.
    var unsent: [PresenterID: [PresenterMessage]] = [:]
    /// The answers that it waits for.
    var open: [QuestionID: PresenterID] = [:]
    /// Answers that came with a reacquirer.
    var reacquirers: [QuestionID: PresenterID] = [:]
    var isDownloaded = false

    var id: ClaimSetID { self.set.id }
    var holds: Bool { phase >= .settling }
    /// Whether its claims keep others off, now or when its turn comes.
    var isBlocking: Bool { self.set.mode == .access || (self.set.mode == .eviction && phase == .granted) }

    func isAsking(_ presenter: PresenterID) -> Bool { open.values.contains(presenter) }
}
