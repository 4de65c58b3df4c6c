package import Model

/// The answer to a write, truncate or fallocate. None of them is ever parked: the kernel holds the inode's lock
/// while it waits for the answer, so a parked one would block the writer whose session it waits for.
package enum WriteVerdict: Hashable, Sendable {
    /// The writer holds the session: do it, then call ``LockTable/finished(_:by:byteCount:now:)`` exactly once.
    case proceed
    /// Another writer holds the session: keep the operation in the queue of this turn, then call
    /// ``LockTable/queued(_:now:)``, or ``LockTable/withdrawn(_:now:)`` when it could not be kept.
    case deferred(TurnID)
    case refused(Refusal)
    /// There are claims, and whether they concern the writer was not told: ask again with its ``Standing``.
    case unplaced
}

/// The answer to an operation that may be parked until the deferred writes of its writer are applied.
package enum WaitVerdict: Hashable, Sendable {
    /// Go on. For ``WaitKind/open`` this is a write in flight: call ``LockTable/finished(_:by:byteCount:now:)`` after
    /// it.
    case proceed
    /// Exactly one ``Effect/wake(_:_:)`` for the ticket follows.
    case parked
    case refused(Refusal)
    /// Only of ``WaitKind/open``; see ``WriteVerdict/unplaced``.
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
    /// It would wait for someone who waits for it: EDEADLK.
    case deadlock
    /// A bound of ``LockTable/Limits`` is reached: EBUSY for a write, ENOLCK for an advisory lock.
    case tooMany
}

/// The answer to a rename or an unlink: they wait for claims, never for write sessions.
package enum NameVerdict: Hashable, Sendable {
    /// Do it, then call ``LockTable/nameChanged(_:now:)``.
    case proceed
    /// Exactly one ``Effect/wake(_:_:)`` for the ticket follows; if it is `.granted`, as `.proceed`.
    case parked
    case refused(Refusal)
}

/// What waits without holding the kernel's inode lock, and so may be parked.
package enum WaitKind: String, Hashable, Sendable, Codable {
    /// An open with truncation. It is the only kind that writes.
    case open
    case read
    /// The flush at each close(2).
    case close
    case fsync
    /// The unlock of an advisory lock: whoever takes that lock next must find the writes made under it.
    case unlock
}

/// What claims ask of a plain writer: where its file is, and whose descendant it is.
package struct Standing: Hashable, Sendable {
    package var item: ClaimItem
    /// The process and its ancestors: a claim covers the process that made it and its descendants.
    package var lineage: Set<ProcessID>

    package init(item: ClaimItem, lineage: Set<ProcessID>) {
        self.item = item
        self.lineage = lineage
    }
}

/// The name the engine gives to an operation it parks. Never reused.
package struct Ticket: RawRepresentable, Hashable, Sendable, Codable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }
    package init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// A writer's place in the line for one file, and the name of the queue that keeps its deferred writes. Never reused.
package struct TurnID: Hashable, Sendable {
    package let inode: InodeNumber
    package let number: UInt64

    package init(inode: InodeNumber, number: UInt64) {
        self.inode = inode
        self.number = number
    }
}

/// What the engine does after an event, in the order given and outside the lock that guards the table.
package enum Effect: Hashable, Sendable {
    /// Apply what stands in the queue of this turn, then call ``LockTable/drained(_:applied:now:)``.
    case grant(TurnID)
    /// The parked operation goes on, or fails. Sent exactly once for each ticket that was parked.
    case wake(Ticket, WakeReason)
    /// A write session of this file is over, between two writes. (When a newcomer takes over from a silent holder at
    /// once, the file stays in session and nothing is sent.)
    case sessionEnded(InodeNumber)
    case claim(ClaimEffect)
}

package enum WakeReason: Hashable, Sendable {
    /// As a `.proceed` or `.granted` verdict would have said, with the same duty for ``WaitKind/open``.
    case granted
    /// ``LockTable/cancel(_:now:)`` came first, or the process died: EINTR.
    case cancelled
    /// The deadline of a name change is over: EBUSY.
    case timedOut
    /// A name change would wait for someone who waits for it: EDEADLK.
    case deadlock
}
