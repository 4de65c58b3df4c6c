/// What the current thread is doing: the accessors that it runs, and the presenter whose message it handles.
enum CoordinationThread {
    private final class Context {
        var held: [HeldClaim] = []
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

    /// The number of the presenter whose message the thread handles, or on whose queue it runs.
    static var presenter: UInt64? {
        context.presenter ?? OperationQueue.current.flatMap { PresenterRegistry.shared.presenter(on: $0)?.number }
    }

    static func holding<Value>(_ claims: [HeldClaim], _ body: () throws -> Value) rethrows -> Value {
        let context = context
        let before = context.held
        context.held = before + claims
        defer { context.held = before }
        return try body()
    }

    static func delivering(to presenter: UInt64, _ body: () -> Void) {
        let context = context
        let before = context.presenter
        context.presenter = presenter
        defer { context.presenter = before }
        body()
    }
}
