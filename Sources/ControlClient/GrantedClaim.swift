/// Granted coordinated access, held until it is released or its session ends.
package struct GrantedClaim: Hashable, Sendable {
    /// The session's number for it: unique in this process, so that no other session takes it for one of its own.
    package let claim: UInt64
    /// The daemon's id, as shown by `dewpoint locks` and taken by `--break`.
    package let id: UInt64
    /// The current paths of the items, in the order of the request.
    package let paths: [String]
}

/// A step before a claim is granted.
package enum ClaimProgress: Hashable, Sendable {
    /// Not granted at once; the text names the processes that it waits for.
    case waiting(for: String)
    case downloading(bytesDone: Int64, bytesTotal: Int64)
}
