import GRDB
package import Foundation
package import Model

/// What is being sent to the container.
extension OutboxChanges {
    /// Notes that new items are about to be sent. An item that is removed here before the outcome of the commit is
    /// known must be deleted in the container when it turns out that the commit has landed.
    ///
    /// - Parameter number: The number of the commit. ``ReplicaTransaction/setApplied(_:nonce:)`` for it or a later one
    ///   forgets them.
    package func noteSent(_ items: [ItemID], in number: CommitNumber) throws {
        for item in items {
            try rows.execute(
                "INSERT OR REPLACE INTO sent(item, number) VALUES(?, ?)", [item.uuid, Int64(bitPattern: number)])
        }
    }

    /// Notes a commit that is about to be sent: it may land although the response is lost, even after this process has
    /// ended.
    package func noteSending(_ number: CommitNumber, nonce: UUID) throws {
        var sending = try rows.outbox.sending() ?? SendingCommits(number: number)
        if sending.number != number { sending = SendingCommits(number: number) }
        sending.nonces = (sending.nonces + [nonce]).suffix(SendingCommits.limit)
        try rows.setMeta(.sending, sending.text)
    }
}

extension Outbox {
    /// Whether an item was sent from here as a new one, and no commit has been applied since that shows whether it
    /// landed.
    package func wasSent(_ item: ItemID) throws -> Bool {
        try rows.exists("SELECT 1 FROM sent WHERE item = ?", [item.uuid])
    }

    /// A commit of that number is applied: the items sent with it have landed or have not.
    func forgetSent(through number: CommitNumber) throws {
        try rows.execute("DELETE FROM sent WHERE number <= ?", [Int64(bitPattern: number)])
        guard let sending = try sending(), !sending.nonces.isEmpty, sending.number <= number else { return }
        try rows.setMeta(.sending, SendingCommits(number: number).text)
    }

    /// `nil` as long as none was ever noted.
    func sending() throws -> SendingCommits? {
        try rows.meta(.sending, as: String.self).flatMap { SendingCommits(text: $0) }
    }

    /// Whether a commit of this device was sent by it as it is now.
    ///
    /// - Parameter nonce: That of the commit; `nil` for the records of a snapshot, of which only the newest commits are in
    ///   question.
    package func remembersSending(_ nonce: UUID?) throws -> Bool {
        // An index of a version that noted none.
        guard let sending = try sending() else { return true }
        return nonce.map { sending.nonces.contains($0) } ?? !sending.nonces.isEmpty
    }
}

/// The commits of one number that were sent from here and whose outcome is unknown.
struct SendingCommits {
    /// How many are remembered: each is an attempt while the store did not answer. The newest are kept.
    static let limit = 256

    var number: CommitNumber
    var nonces: [UUID] = []

    init(number: CommitNumber) { self.number = number }

    init?(text: String) {
        let parts = text.split(separator: " ")
        guard let number = parts.first.flatMap({ CommitNumber($0) }) else { return nil }
        self.number = number
        nonces = parts.dropFirst().compactMap { UUID(uuidString: String($0)) }
    }

    var text: String { (["\(number)"] + nonces.map(\.uuidString)).joined(separator: " ") }
}

extension ReplicaTransaction {
    /// Notes that this device met a commit of its own that it does not remember.
    ///
    /// - Returns: Whether it is the first for an hour.
    package func notePutBack(_ number: CommitNumber) throws -> Bool {
        let last = try rows.putBack()
        try rows.setMeta(.putBack, "\(number) \(now.rawValue)")
        return last.map { now.rawValue - $0.time.rawValue > 3_600_000_000_000 } ?? true
    }
}

extension Rows {
    /// The newest commit of this device that it met without remembering it, and when; `nil` when there was none.
    package func putBack() throws -> (number: CommitNumber, time: Timestamp)? {
        let parts = try meta(.putBack, as: String.self)?.split(separator: " ") ?? []
        guard parts.count == 2, let number = CommitNumber(parts[0]), let time = Int64(parts[1]) else { return nil }
        return (number, Timestamp(rawValue: time))
    }
}
