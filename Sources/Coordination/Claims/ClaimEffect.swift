package import Model

/// What the engine does after an event of claims or presenters, outside the lock that guards the table.
package enum ClaimEffect: Hashable, Sendable {
    /// Tell where these files are, with ``LockTable/located(_:now:)``: somebody writes them, and a claim must know
    /// whether it concerns them.
    case locate([InodeNumber])
    /// Send the message; the answer goes to ``LockTable/answered(_:_:now:)``.
    case ask(Question)
    /// It has not answered in time, for the log. What becomes of the claim is ``ClaimLimits/patience``.
    case unresponsive(Question)
    /// Its claim is over: run the reacquirer that came with the answer to this question.
    case reacquire(PresenterID, QuestionID)
    /// Bring the bytes of these items here unless they are, then call ``LockTable/downloaded(_:now:)`` or
    /// ``LockTable/downloadFailed(_:_:now:)``. A package means all that it contains.
    case download(ClaimSetID, [ClaimItem])
    /// The accessor runs, until ``LockTable/release(_:now:)``.
    case granted(ClaimSetID)
    /// The set is gone from the table, and was not released by its client.
    case ended(ClaimSetID, ClaimEnd)
    /// They wait for each other in a circle: each link's `waitsFor` is the next one's `waiter`. Told once.
    case deadlock([WaitLink])
}

package enum ClaimEnd: Hashable, Sendable {
    /// It was broken, its process died, or its connection ended.
    case revoked
    case cancelled
    case failed(ClaimFailure)
}

package enum ClaimFailure: Hashable, Sendable {
    case timedOut
    /// The error that a presenter answered with.
    case presenter(PresenterID, String)
    /// It did not answer, and ``ClaimLimits/patience`` says to fail.
    case unresponsive(PresenterID)
    case download(FileError.Code, String)
    case deadlock([WaitLink])
    /// An eviction of what has a presenter that does not let it go, or stays.
    case presented(PresenterID)
    /// An eviction of what this set has claimed.
    case claimed(ClaimSetID)
}
