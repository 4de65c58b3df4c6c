import Coordination
import Model
import Testing

// Fixtures of these tests: files, processes with one handle each, and instants.

let file = InodeNumber(7)
let otherFile = InodeNumber(8)
let ann = Writer(process: ProcessID(1), handle: OpenHandleID(11))
let bob = Writer(process: ProcessID(2), handle: OpenHandleID(12))
let cat = Writer(process: ProcessID(3), handle: OpenHandleID(13))

extension Instant {
    static func ms(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }
}

extension Writer {
    /// The same process through another handle.
    func through(_ handle: UInt64?) -> Writer { Writer(process: process, handle: handle.map { OpenHandleID($0) }) }
}

extension LockTable {
    /// A write that begins and finishes at one moment.
    @discardableResult
    mutating func wrote(_ writer: Writer, on inode: InodeNumber = file, at now: Instant) -> [Effect]? {
        guard write(Ticket(900), inode, by: writer, now: now) == .proceed else { return nil }
        return finished(inode, by: writer, byteCount: 1, now: now)
    }

    /// An open as the engine performs it: the writer's relatives are supplied when the table needs them.
    mutating func open(
        _ ticket: UInt64, _ writer: Writer, on inode: InodeNumber = file, rewriting: Bool = true, at now: Instant,
        ancestors: Set<ProcessID> = [], descendants: Set<ProcessID> = []
    ) -> WriteVerdict {
        let ticket = Ticket(ticket)
        let verdict = open(ticket, inode, by: writer, isRewriting: rewriting, now: now)
        guard verdict == .unplaced else { return verdict }
        let context = WriterContext(
            item: ClaimItem(orphan: inode), ancestors: ancestors.union([writer.process]), descendants: descendants)
        return open(
            ticket, inode, by: writer, isRewriting: rewriting, now: now, context: context)
    }

    mutating func close(_ writer: Writer, on inode: InodeNumber = file, at now: Instant) -> [Effect] {
        handleClosed(inode, writer.handle!, now: now)
    }
}

extension Effect {
    static func opened(_ ticket: UInt64) -> Effect { .wake(Ticket(ticket), .granted) }
}
