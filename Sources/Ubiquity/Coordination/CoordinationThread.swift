/// What the current thread is doing: the accessors that it runs, and the presenter whose answer it prepares.
///
/// A call on the queue of a presenter, or in its handler of a notice, holds up no answer of it: see ``QueueWork``.
enum CoordinationThread {
    private final class Context {
        var held: [HeldClaim] = []
        /// The moves to other domains that the innermost accessor has reported; `nil` outside of accessors.
        var moves: [DomainMove]?
        var presenter: UInt64?
    }

    private static let key = "org.dewpoint.coordination"

    private static var context: Context {
        let dictionary = Thread.current.threadDictionary
        if let context = dictionary[key] as? Context { return context }
        let context = Context()
        dictionary[key] = context
        return context
    }

    /// The claims in whose accessors the thread is.
    static var held: [HeldClaim] { context.held }

    /// The number of the presenter whose answer to a question the thread prepares.
    static var presenter: UInt64? { context.presenter }

    /// Runs an accessor.
    ///
    /// - Returns: The moves to other domains that it reported.
    static func holding(_ claims: [HeldClaim], _ accessor: () -> Void) -> [DomainMove] {
        let context = context
        let (held, moves) = (context.held, context.moves)
        context.held = held + claims
        context.moves = []
        accessor()
        defer {
            context.held = held
            context.moves = moves
        }
        return context.moves ?? []
    }

    /// - Returns: `false` outside of accessors.
    static func note(_ move: DomainMove) -> Bool {
        guard context.moves != nil else { return false }
        context.moves?.append(move)
        return true
    }

    static func delivering(to presenter: UInt64, _ body: () -> Void) {
        let context = context
        let before = context.presenter
        context.presenter = presenter
        defer { context.presenter = before }
        body()
    }
}
