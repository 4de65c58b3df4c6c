/// How many pieces the next GET of a download brings.
///
/// One until the first piece is here, so that the store sends it as soon as it can; then twice as many for each GET that was quick, since
/// every request costs the store and this machine something; fewer again where they take long, since a link that is busy with what nobody
/// reads yet is not there for what somebody waits for.
struct FetchWindow: Equatable {
    /// The most, 8 MiB: what one GET is asked for at most.
    static let pieceLimit = 8
    /// How many a GET brings at most whose first piece somebody waits for elsewhere than where the fill is.
    static let demandedPieceLimit = 2
    /// A GET that took no longer may bring twice as much the next time.
    static let quickLimit = Duration.milliseconds(100)
    /// A GET that took longer brought too much.
    static let slowLimit = Duration.milliseconds(400)

    private(set) var pieceCount = 1

    /// Takes note of a GET that brought everything.
    mutating func note(pieceCount brought: Int, in elapsed: Duration) {
        if elapsed > Self.slowLimit {
            pieceCount = max(1, min(pieceCount, brought / 2))
        } else if elapsed <= Self.quickLimit, brought >= pieceCount {
            pieceCount = min(pieceCount * 2, Self.pieceLimit)
        }
    }
}
