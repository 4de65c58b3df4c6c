import Model

/// The answer to an open for writing, and to a write, truncate or fallocate.
package enum WriteVerdict: Hashable, Sendable {
    /// Go ahead. After a write call ``LockTable/finished(_:by:byteCount:now:)`` exactly once, after an open
    /// ``LockTable/handleClosed(_:_:now:)`` when the handle is closed or the open failed.
    case proceed
    /// Exactly one ``Effect/wake(_:_:)`` for the ticket follows; if it is `.granted`, treat it as `.proceed`.
    case parked
    case refused(Refusal)
    /// It depends on the file's location and the writer's relatives: call again with its ``WriterContext``.
    case unplaced
}

/// The answer to a request for an advisory lock.
package enum LockVerdict: Hashable, Sendable {
    case granted
    /// Exactly one ``Effect/wake(_:_:)`` for the ticket follows.
    case parked
    case refused(Refusal)
}

package enum Refusal: Hashable, Sendable {
    /// It would have to wait and may not (`O_NONBLOCK`, `F_SETLK`, `LOCK_NB`): EAGAIN.
    case wouldBlock
    /// It would complete a cycle of waits: EDEADLK.
    case deadlock
    /// A bound of ``LockTable/Limits`` is reached: EBUSY for a write, ENOLCK for an advisory lock.
    case tooMany
}

/// The answer to a rename or an unlink: they wait for claims, never for turns.
package enum NameVerdict: Hashable, Sendable {
    /// Go ahead, then call ``LockTable/nameChanged(_:now:)``.
    case proceed
    /// Exactly one ``Effect/wake(_:_:)`` for the ticket follows; if it is `.granted`, treat it as `.proceed`.
    case parked
    case refused(Refusal)
}

/// The facts about a plain writer that claims and turns depend on: its file's location, and its relatives.
package struct WriterContext: Hashable, Sendable {
    package var item: ClaimItem
    /// The process and its ancestors: a claim covers the process that made it and its descendants.
    package var ancestors: Set<ProcessID>
    /// The processes of the file's turn that descend from the writer.
    package var descendants: Set<ProcessID>

    package init(item: ClaimItem, ancestors: Set<ProcessID>, descendants: Set<ProcessID> = []) {
        self.item = item
        self.ancestors = ancestors
        self.descendants = descendants
    }
}

/// The engine's identifier for an operation that it parks. Never reused.
package struct Ticket: RawRepresentable, Hashable, Sendable, Codable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }
    package init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// An action for the engine after an event, in the order given and outside the lock that guards the table.
package enum Effect: Hashable, Sendable {
    /// The parked operation proceeds, or fails. Sent exactly once for each parked ticket.
    case wake(Ticket, WakeReason)
    case claim(ClaimEffect)
}

package enum WakeReason: Hashable, Sendable {
    /// Like a `.proceed` or `.granted` verdict, with the same obligations.
    case granted
    /// ``LockTable/cancel(_:now:)`` came first, or the process died: EINTR.
    case cancelled
    /// The deadline of a name change or of a held write has passed: EBUSY.
    case timedOut
    /// A name change would complete a cycle of waits: EDEADLK.
    case deadlock
}
