/// An open for writing that is parked: behind the turn of an unrelated process, or behind a claim.
struct WaitingOpen: Sendable {
    let ticket: Ticket
    /// Its place in the sequence of all requests.
    let number: UInt64
    let writer: Writer
    /// The ancestors of its process.
    let ancestors: Set<ProcessID>
    /// Whether it takes a turn; otherwise it shares the file.
    let isRewriting: Bool
    let since: Instant
}

/// A write or truncation through a handle that was open before a claim was granted.
///
/// The kernel holds the file's inode lock meanwhile, which the claim's holder may need. So it waits at most
/// ``LockTable/Limits/heldWrite``, and is then refused.
struct HeldWrite: Sendable {
    let ticket: Ticket
    let writer: Writer
    let ancestors: Set<ProcessID>
    let since: Instant
    let deadline: Instant
}
