/// How many pieces the next GET of a download fetches.
///
/// One until the first piece has arrived, so that the store sends it as soon as it can; then twice as many after each
/// quick GET, since every request costs the store and this machine something; fewer again after a slow one, since a
/// link that is busy with pieces that no reader needs yet delays demanded ones.
struct FetchWindow: Equatable {
    /// The most pieces of one GET: 8 MiB.
    static let pieceLimit = 8
    /// The most pieces of a GET for a demanded piece away from the fill.
    static let demandedPieceLimit = 2
    /// After a GET that took no longer, the next may fetch twice as many.
    static let quickLimit = Duration.milliseconds(100)
    /// A GET that took longer fetched too many.
    static let slowLimit = Duration.milliseconds(400)

    private(set) var pieceCount = 1

    /// Records a GET that fetched everything.
    mutating func note(pieceCount fetchedCount: Int, in elapsed: Duration) {
        if elapsed > Self.slowLimit {
            pieceCount = max(1, min(pieceCount, fetchedCount / 2))
        } else if elapsed <= Self.quickLimit, fetchedCount >= pieceCount {
            pieceCount = min(pieceCount * 2, Self.pieceLimit)
        }
    }
}
