package import Model
import Replica
import Synchronization

/// The clients of ``FollowRequest``: each receives every change of the index, and the starts,
/// steps and ends of transfers.
///
/// Without clients, a change costs one load of a flag.
package final class ItemFollowers: Sendable {
    /// The most clients at a time.
    static let limit = 256

    private struct State {
        var followers: [UInt64: FollowedChanges] = [:]
        var last: UInt64 = 0
    }

    private let state = Mutex(State())
    private let isFollowed = Atomic(false)
    private let replica: Replica

    init(replica: Replica) {
        self.replica = replica
        replica.deliverChanges { [weak self] in self?.add($0) }
    }

    var hasFollowers: Bool { isFollowed.load(ordering: .acquiring) }

    /// - Throws: ``FileError`` with `busy` at the limit of clients.
    package func admit() throws(FileError) {
        if state.withLock({ $0.followers.count >= Self.limit }) { throw Self.tooMany }
    }

    private static let tooMany = FileError(.busy, "\(limit) clients follow items already")

    /// Begins to collect changes at and below a path: all that happen after the call.
    ///
    /// - Returns: The changes, and the value to pass to ``remove(_:)``.
    /// - Throws: ``FileError`` with `busy` at the limit of clients.
    package func add(_ path: String) throws(FileError) -> (FollowedChanges, UInt64) {
        guard path.utf8.count <= ShownPath.byteLimit else {
            throw FileError(.nameTooLong, "paths of more than \(ShownPath.byteLimit) bytes cannot be followed")
        }
        let changes = FollowedChanges(top: path)
        let id = state.withLock { state -> UInt64? in
            guard state.followers.count < Self.limit else { return nil }
            state.last += 1
            state.followers[state.last] = changes
            isFollowed.store(true, ordering: .releasing)
            return state.last
        }
        guard let id else { throw Self.tooMany }
        do throws(FileError) {
            changes.begin(after: try replica.beginFollowing())
        } catch {
            forget(id)
            throw error
        }
        return (changes, id)
    }

    package func remove(_ id: UInt64) {
        forget(id)
        // Only a replica that is closed refuses it, and its connection ends.
        try? replica.endFollowing()
    }

    private func forget(_ id: UInt64) {
        let removed = state.withLock { state in
            let removed = state.followers.removeValue(forKey: id)
            isFollowed.store(!state.followers.isEmpty, ordering: .releasing)
            return removed
        }
        removed?.finish()
    }

    // MARK: Changes

    private func add(_ changes: IndexChanges) {
        for follower in state.withLock({ Array($0.followers.values) }) { follower.add(changes) }
    }

    /// The state of items changed although the index did not: of a transfer, or of an error.
    func changed(_ inodes: [InodeNumber]) {
        guard hasFollowers, !inodes.isEmpty else { return }
        for follower in state.withLock({ Array($0.followers.values) }) { follower.add(inodes) }
    }

    /// The state of every item that waits to be uploaded changed.
    func changedQueued() {
        guard hasFollowers else { return }
        // On an error the items keep their older state until they change.
        changed((try? replica.read { try $0.outbox.queuedInodes(limit: FollowedChanges.limit) }) ?? [])
    }
}
