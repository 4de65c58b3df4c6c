/// Coordinated access that is held, until it is released or its session ends.
package struct GrantedClaim: Hashable, Sendable {
    /// The session's name for it: unique in this process, so that no other session takes it for one of its own.
    package let claim: UInt64
    /// The daemon's: what `dewpoint locks` shows and `--break` takes.
    package let id: UInt64
    /// Where the items are now, in the order of the request.
    package let paths: [String]
}

/// What happens before a claim is granted.
package enum ClaimProgress: Hashable, Sendable {
    /// Not granted at once; the text names who holds it up.
    case waiting(for: String)
    case downloading(bytesDone: Int64, bytesTotal: Int64)
}
