import Model

/// A claim set on its way through the table.
///
/// ```
///             no conflict ahead       all have answered          bytes are local
///  in line ─────────────────▶ messaging ──────────────▶ downloading ───────────▶ cleared
///     (waiting)                  │                         │                        │ no conflicting holder
///                                ▼ an error                ▼                        ▼   turns over, sharers quiet
///                              failed                   failed                  draining ───────────▶ granted
/// ```
/// A set whose item is replaced by another one before it is granted goes back to downloading.
///
/// From draining on it counts as held: no conflicting set is held, and plain writers wait behind it. In every state it
/// may be cancelled, revoked, or reach its deadline; only a granted set is released.
struct ClaimEntry: Sendable {
    enum Phase: Int, Sendable, Comparable {
        case inLine, messaging, downloading, cleared, draining, granted

        static func < (left: Phase, right: Phase) -> Bool { left.rawValue < right.rawValue }
    }

    /// As requested, except that its items follow moves.
    var set: ClaimSet
    /// Its place in the sequence of all requests, turns of plain writers included.
    let number: UInt64
    let since: Instant
    var phase = Phase.inLine
    /// Messages still to be sent to presenters, after they have answered the current ones.
    var unsent: [PresenterID: [PresenterMessage]] = [:]
    /// The questions whose answers it waits for.
    var open: [QuestionID: PresenterID] = [:]
    /// Answers that were given with a reacquirer.
    var reacquirers: [QuestionID: PresenterID] = [:]
    /// The items whose bytes were requested last.
    var requested: Set<InodeNumber> = []
    /// Whether these bytes are local.
    var isDownloaded = false

    var id: ClaimSetID { self.set.id }
    var holds: Bool { phase >= .draining }
    /// Whether its claims hold others off, now or when its turn comes.
    var isBlocking: Bool { self.set.mode == .access || (self.set.mode == .eviction && phase == .granted) }

    func isAsking(_ presenter: PresenterID) -> Bool { open.values.contains(presenter) }

    /// The items whose bytes must be local before it is granted.
    var wantedItems: [ClaimItem] {
        self.set.mode == .access ? self.set.claims.filter(\.wantsDownload).map(\.item.whole) : []
    }

    /// Whether an item was replaced by another one, as in an atomic save, since the bytes were requested.
    var wantsOtherBytes: Bool { !requested.isSuperset(of: wantedItems.compactMap(\.inode)) }
}

extension Claim {
    /// Whether the bytes must be local: a directory that is not a package has none.
    fileprivate var wantsDownload: Bool {
        let whole = item.whole
        return kind.wantsBytes && whole.inode != nil && (!whole.isDirectory || !whole.packages.isEmpty)
    }
}
