package import Model

/// An advisory lock that is held: for who keeps them longer than this process lives.
package enum HeldLock: Hashable, Sendable {
    case record(RecordLock)
    case flock(LockMode, OpenHandleID, ProcessID)
}

extension LockTable {
    /// From now on ``takeChangedFiles()`` gives the files whose locks have changed.
    package mutating func trackAdvisoryLocks() { advisory.trackChanges() }

    /// Gives a lock back that was held before, together with the others: so it is not refused.
    package mutating func restore(_ lock: HeldLock, on inode: InodeNumber, now: Instant) -> [Effect] {
        switch lock {
        case .record(let record):
            lockRecord(record, on: inode, ticket: nil, now: now).effects
        case .flock(let mode, let handle, let process):
            flock(mode, handle: handle, process: process, on: inode, ticket: nil, now: now).effects
        }
    }

    /// The files whose held locks may have changed since the last call.
    package mutating func takeChangedFiles() -> Set<InodeNumber> { advisory.takeChanged() }

    /// The locks that are held in a file.
    package func heldLocks(of inode: InodeNumber) -> [HeldLock] {
        guard let file = advisory.files[inode] else { return [] }
        let records = file.records.all.map { owner, segment in
            HeldLock.record(
                RecordLock(mode: segment.mode, range: segment.range, owner: owner, process: segment.process))
        }
        return records + file.flocks.map { .flock($0.mode, $0.handle, $0.process) }
    }
}
