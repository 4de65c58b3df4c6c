package import ControlAPI
package import Model

/// A question whose answer is a value in JSON.
package protocol PerformedQuestion: ControlQuestion where Answer: Encodable & Sendable {
    static var work: ControlWork { get }

    func perform(in daemon: ControlledDaemon) async throws(FileError) -> Answer
}

/// Where a question is performed.
package enum ControlWork {
    /// On the event loop.
    case quick
    /// Away from it: the answer is long.
    case long
    /// Away from it, which must see when the client disconnects: then the work ends. It takes long in a large or hostile
    /// container.
    case endingWithClient
}

/// An order whose answer is a value in JSON.
package protocol PerformedOrder: ControlOrder where Answer: Encodable & Sendable {
    func perform(in daemon: ControlledDaemon) async throws(FileError) -> Answer
}

/// An order without a result.
package protocol DoneOrder: ControlOrder where Answer == Done {
    func perform(in daemon: ControlledDaemon) async throws(FileError)
}

extension PerformedQuestion {
    package static var work: ControlWork { .quick }
}
