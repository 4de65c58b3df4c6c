package import Model

/// An action for the engine after an event of claims or presenters, outside the lock that guards the table.
package enum ClaimEffect: Hashable, Sendable {
    /// Locate these files, with ``LockTable/located(_:now:)``: they are being written, and a claim must know whether it
    /// concerns them.
    case locate([InodeNumber])
    /// Send the message; the answer goes to ``LockTable/answered(_:_:now:)``.
    case ask(Question)
    /// The question was not answered in time, for the log. ``ClaimLimits/patience`` decides about the claim.
    case unresponsive(Question)
    /// The claim is over: run the reacquirer that was passed with the answer to this question.
    case reacquire(PresenterID, QuestionID)
    /// Download these items unless they are local, then call ``LockTable/downloaded(_:now:)`` or
    /// ``LockTable/downloadFailed(_:_:now:)``. A package includes everything in it.
    case download(ClaimSetID, [ClaimItem])
    /// Run the accessor, until ``LockTable/release(_:now:)``.
    case granted(ClaimSetID)
    /// The set was removed from the table, and was not released by its client.
    case ended(ClaimSetID, ClaimEnd)
    /// A deadlock: each link's `waitsFor` is the next one's `waiter`. Reported once.
    case deadlock([WaitLink])
}

package enum ClaimEnd: Hashable, Sendable {
    /// It was revoked by a user, its process died, or its connection ended.
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
    /// An eviction of an item whose presenter does not permit it, or keeps presenting it.
    case presented(PresenterID)
    /// An eviction of an item claimed by this set.
    case claimed(ClaimSetID)
}
