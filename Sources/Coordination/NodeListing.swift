package import Model

package enum HolderKind: String, Hashable, Sendable, Codable {
    case writeSession = "write session"
    case recordLock = "record lock"
    case flock
}

/// Who holds one file and who waits for it, at one moment: a node of what `dewpoint locks` prints.
package struct NodeListing: Hashable, Sendable, Codable {
    package struct Holder: Hashable, Sendable, Codable {
        package var kind: HolderKind
        /// In ascending order. Empty for the kernel's own write-back.
        package var processes: [ProcessID]
        package var age: Duration
        /// How a lock is held; `nil` for a session, which is always exclusive.
        package var mode: LockMode?
        /// The bytes of a record lock, the last one included; `Int64.max` means to the end.
        package var range: ClosedRange<Int64>?
        /// Bytes that a session has written.
        package var byteCount: Int64
        /// Writes of a session that are going on.
        package var writesInFlight: Int
        /// Deferred writes of the session that are being applied, before it writes directly.
        package var deferredWrites: Int
    }

    package struct Waiter: Hashable, Sendable, Codable {
        package enum Kind: String, Hashable, Sendable, Codable {
            case deferredWrites = "deferred writes"
            case open, read, close, fsync, unlock
            case recordLock = "record lock"
            case flock
            case nameChange = "name change"
        }

        package var kind: Kind
        package var processes: [ProcessID]
        package var age: Duration
        package var mode: LockMode?
        package var range: ClosedRange<Int64>?
        /// How many writes stand in the queue of a turn.
        package var deferredWrites: Int
        /// `nil` for a turn, which nobody is parked on.
        package var ticket: Ticket?
        /// The processes that hold what it waits for; for a request that only lets others go first, theirs. Empty while
        /// its own deferred writes are being applied.
        package var waitsFor: [ProcessID]
    }

    package var inode: InodeNumber
    /// The directory it is in; `nil` for the root, for a file without a name, and where nobody has claims.
    package var parent: InodeNumber?
    package var name: ItemName?
    package var presenters: [PresenterProxy] = []
    /// In the order of the requests, granted or not.
    package var claims: [AccessClaim] = []
    package var holders: [Holder] = []
    /// In the order in which they will be served: turns with what is parked on them, then advisory locks.
    package var waiters: [Waiter] = []

    package init(inode: InodeNumber) { self.inode = inode }
}

extension NodeListing.Holder {
    /// What there is to add to the kind, such as `exclusive, bytes 0-511`, for people.
    package var detail: String {
        guard kind == .writeSession else { return describe(mode, range) }
        var parts = ["\(byteCount) B written"]
        if writesInFlight > 0 { parts.append("\(writesInFlight) in flight") }
        if deferredWrites > 0 { parts.append("applying \(deferredWrites) deferred") }
        return parts.joined(separator: ", ")
    }
}

extension NodeListing.Waiter {
    package var detail: String {
        kind == .deferredWrites ? "\(deferredWrites) in the queue" : describe(mode, range)
    }
}

private func describe(_ mode: LockMode?, _ range: ClosedRange<Int64>?) -> String {
    var parts = mode.map { [$0.rawValue] } ?? []
    if let range {
        parts.append("bytes \(range.lowerBound)-\(range.upperBound == .max ? "end" : String(range.upperBound))")
    }
    return parts.joined(separator: ", ")
}

extension NodeListing {
    /// The same in the words of the control API.
    ///
    /// - Parameters:
    ///   - path: Below the container's root; empty for a file without a name.
    ///   - command: The name of a process, or empty.
    ///   - namespace: The pid namespace of a process, where it is another one.
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
