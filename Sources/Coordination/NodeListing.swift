package import Model

package enum HolderKind: String, Hashable, Sendable, Codable {
    case turn
    case recordLock = "record lock"
    case flock
}

/// The holders and waiters of one file at one moment: a node of the output of `dewpoint locks`.
package struct NodeListing: Hashable, Sendable, Codable {
    package struct Holder: Hashable, Sendable, Codable {
        package var kind: HolderKind
        /// In ascending order.
        package var processes: [ProcessID]
        package var age: Duration
        /// The mode of a lock; `nil` for a turn, which is always exclusive.
        package var mode: LockMode?
        /// The bytes of a record lock, the last one included; `Int64.max` means to the end.
        package var range: ClosedRange<Int64>?
        /// Bytes written in a turn.
        package var byteCount: Int64
        /// Writes of a turn in flight.
        package var writesInFlight: Int
    }

    package struct Waiter: Hashable, Sendable, Codable {
        package enum Kind: String, Hashable, Sendable, Codable {
            case open, write
            case recordLock = "record lock"
            case flock
            case nameChange = "name change"
        }

        package var kind: Kind
        package var processes: [ProcessID]
        package var age: Duration
        package var mode: LockMode?
        package var range: ClosedRange<Int64>?
        package var ticket: Ticket
        /// The processes that hold what it waits for; for a request that yields to earlier waiters, those waiters.
        package var waitsFor: [ProcessID]
    }

    package var inode: InodeNumber
    /// Its parent directory; `nil` for the root, for a file without a name, and while there are no claims.
    package var parent: InodeNumber?
    package var name: ItemName?
    package var presenters: [PresenterProxy] = []
    /// In the order of the requests, granted or not.
    package var claims: [AccessClaim] = []
    package var holders: [Holder] = []
    /// In the order in which they will be served: opens and writes, then advisory locks.
    package var waiters: [Waiter] = []

    package init(inode: InodeNumber) { self.inode = inode }
}

extension NodeListing.Holder {
    /// Details for people, for example `exclusive, bytes 0-511`.
    package var detail: String {
        guard kind == .turn else { return describe(mode, range) }
        return "\(byteCount) B written" + (writesInFlight > 0 ? ", \(writesInFlight) in flight" : "")
    }
}

extension NodeListing.Waiter {
    package var detail: String { describe(mode, range) }
}

private func describe(_ mode: LockMode?, _ range: ClosedRange<Int64>?) -> String {
    var parts = mode.map { [$0.rawValue] } ?? []
    if let range {
        parts.append("bytes \(range.lowerBound)-\(range.upperBound == .max ? "end" : String(range.upperBound))")
    }
    return parts.joined(separator: ", ")
}

extension NodeListing {
    /// The same in the terms of the control API.
    ///
    /// - Parameters:
    ///   - path: Below the container's root; empty for a file without a name.
    ///   - command: The name of a process, or empty.
    ///   - namespace: The pid namespace of a process, if it differs.
    package func listing(
        path: String, command: (ProcessID) -> String, namespace: (ProcessID) -> String? = { _ in nil }
    ) -> LockListing {
        func party(
            _ kind: String, _ detail: String, _ processes: [ProcessID], _ age: Duration, _ waitsFor: [ProcessID],
            claim: ClaimSetID? = nil
        ) -> LockListing.Party {
            var party = LockListing.Party(
                kind: kind, detail: detail, processes: processes.map(\.rawValue),
                command: processes.first.map(command) ?? "", ageSeconds: age / .seconds(1),
                waitsFor: waitsFor.map(\.rawValue), claim: claim?.rawValue)
            party.namespace = processes.first.flatMap(namespace)
            return party
        }
        return LockListing(
            path: path, inode: inode,
            holders: claims.filter { $0.state == .granted }
                .map { party($0.kind, $0.detail, [$0.process], $0.age, [], claim: $0.set) }
                + holders.map { party($0.kind.rawValue, $0.detail, $0.processes, $0.age, []) },
            waiters: claims.filter { $0.state != .granted }
                .map { party($0.kind, $0.detail, [$0.process], $0.age, $0.waitsForProcesses, claim: $0.set) }
                + waiters.map { party($0.kind.rawValue, $0.detail, $0.processes, $0.age, $0.waitsFor) },
            presenters: presenters.map { presenter in
                LockListing.PresenterProxy(
                    process: presenter.process.rawValue, command: command(presenter.process),
                    isUnresponsive: presenter.isUnresponsive, unanswered: presenter.unanswered)
            }, parent: parent)
    }
}
