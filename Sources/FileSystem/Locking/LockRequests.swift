import Coordination
import Glibc
package import Model
import Sync

/// A record lock in the terms of `fcntl(2)`.
package struct RecordLockRequest: Sendable, Hashable {
    package var type: Kind
    /// The first byte.
    package var start: Int64
    /// The last byte; `Int64.max` means to the end.
    package var end: Int64
    /// The owner; set in the answer to a test.
    package var process: Int32

    package enum Kind: Sendable, Hashable { case shared, exclusive, unlock }

    package init(type: Kind, start: Int64, end: Int64, process: Int32) {
        self.type = type
        self.start = start
        self.end = end
        self.process = process
    }
}

/// The operation of `flock(2)`.
package enum FlockOperation: Sendable, Hashable { case shared, exclusive, unlock }

/// Requests for advisory locks, which are in the same table as the writes.
package struct LockRequests: Sendable {
    let open: OpenFiles
    let manager: LockManager
    let environment: EngineEnvironment

    /// Related: fcntl(2), `F_SETLK` and, with `wait`, `F_SETLKW`.
    package func recordLock(
        _ id: HandleID, lock: RecordLockRequest, owner: UInt64, wait: Bool, by caller: Caller
    ) throws(FileError) -> Answer<Void> {
        let handle = try open.handle(id)
        let process = ProcessID(handle.process(of: caller))
        guard lock.start >= 0, lock.end >= lock.start else { throw FileError(.invalid, "the range is empty") }
        let range = lock.start...lock.end
        let inode = handle.inode.number
        let mode: LockMode
        switch lock.type {
        case .shared: mode = .shared
        case .exclusive: mode = .exclusive
        case .unlock:
            manager.perform { table, now in
                table.unlockRecord(range, of: LockOwner(owner), on: inode, now: now)
            }
            return .ready(())
        }
        let request = RecordLock(mode: mode, range: range, owner: LockOwner(owner), process: process)
        handle.noteLockOwner(owner)
        return try withGrace {
            // Only a lock of an open file description survives the flush of its close.
            guard let other = manager.ask({ $0.conflict(with: request, on: inode) }) else { return false }
            return open.closingHandles(of: inode).contains { $0.lockOwners.contains(other.owner.rawValue) }
        } request: { [manager] () throws(FileError) in
            try manager.requestLock { table, ticket, now in
                table.lockRecord(request, on: inode, ticket: wait ? ticket : nil, now: now)
            }
        }
    }

    /// The lock that conflicts with a request, or `nil`. Related: fcntl(2), `F_GETLK`.
    package func testLock(
        _ id: HandleID, lock: RecordLockRequest, owner: UInt64
    ) throws(FileError) -> RecordLockRequest? {
        let handle = try open.handle(id)
        guard lock.type != .unlock, lock.start >= 0, lock.end >= lock.start else {
            throw FileError(.invalid, "not a lock that can be tested")
        }
        let request = RecordLock(
            mode: lock.type == .shared ? .shared : .exclusive, range: lock.start...lock.end, owner: LockOwner(owner),
            process: ProcessID(lock.process))
        guard let other = manager.ask({ $0.conflict(with: request, on: handle.inode.number) }) else {
            return nil
        }
        return RecordLockRequest(
            type: other.mode == .shared ? .shared : .exclusive, start: other.range.lowerBound,
            end: other.range.upperBound, process: other.process.rawValue)
    }

    /// Related: flock(2).
    package func flock(
        _ id: HandleID, operation: FlockOperation, wait: Bool, by caller: Caller
    ) throws(FileError) -> Answer<Void> {
        let handle = try open.handle(id)
        let process = ProcessID(handle.process(of: caller))
        let owner = OpenHandleID(handle.id.rawValue)
        let inode = handle.inode.number
        let mode: LockMode
        switch operation {
        case .shared: mode = .shared
        case .exclusive: mode = .exclusive
        case .unlock:
            manager.perform { table, now in table.unlockFlock(handle: owner, on: inode, now: now) }
            return .ready(())
        }
        return try withGrace {
            open.closingHandles(of: inode).contains { $0.id != id }
        } request: { [manager] () throws(FileError) in
            try manager.requestLock { table, ticket, now in
                table.flock(mode, handle: owner, process: process, on: inode, ticket: wait ? ticket : nil, now: now)
            }
        }
    }

    /// How long a non-blocking request waits for the release of a closed file to arrive: each wait is twice the one
    /// before, 255 ms in all.
    private static let firstGrace = Duration.milliseconds(1)
    private static let graceSteps = 8

    /// Requests a lock, and retries for a moment when it conflicts with a lock of a file that was just closed: the
    /// kernel sends the release only after close(2) has returned.
    private func withGrace(
        isClosing: () -> Bool, request: @escaping @Sendable () throws(FileError) -> Answer<Void>
    ) throws(FileError) -> Answer<Void> {
        do throws(FileError) {
            return try request()
        } catch {
            guard error.code == .wouldBlock else { throw error }
            // The release may also have arrived since the refusal.
            guard isClosing() else { return try request() }
            let refusal = error
            return .pending { [environment] () async throws(FileError) in
                for step in 0..<Self.graceSteps {
                    // When cancelled, retry once more before the refusal.
                    try? await environment.sleep(Self.firstGrace * (1 << step))
                    do throws(FileError) {
                        if case .ready = try request() { return }
                    } catch {
                        guard error.code == .wouldBlock else { throw error }
                    }
                }
                throw refusal
            }
        }
    }
}
