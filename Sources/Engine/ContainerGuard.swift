import Foundation
import Model
import Remote
import Replica
import Synchronization

/// Sees that both ends are still what the index knows, before anything is sent to the container or taken from it: absence is never
/// deletion, and nothing is appended to what is not this container any more.
///
/// One look asks: is the backing directory there, does `container.json` name this container, and does its log still reach as far as
/// what is applied here. Once in a run it also asks whether the store keeps the promise of ``ObjectStore/create(_:_:)``. While a look
/// finds something wrong, sync stands still, and every further attempt looks again: it goes on by itself when that is put right.
final class ContainerGuard: Sendable {
    /// How old the last good look may be when a commit is made.
    static let commitAge = Duration.seconds(60)
    /// How old it may be when the log is followed: two requests in this time, beside those for the log.
    static let followAge = Duration.seconds(300)

    private struct State {
        /// The moment of the last good look; `nil` when there was none or something went wrong since.
        var passed: Duration?
        var isCreateOnlyKnown = false
        var problem: String?
    }

    private let state = Mutex(State())
    private let replica: Replica
    private let container: Container
    private let location: String
    private let environment: EngineEnvironment

    /// - Parameter location: Where the store is, for people.
    init(replica: Replica, container: Container, location: String, environment: EngineEnvironment) {
        self.replica = replica
        self.container = container
        self.location = location
        self.environment = environment
    }

    /// What is wrong, in a sentence; `nil` when nothing is known to be.
    var problem: String? { state.withLock { $0.problem } }

    /// Something went wrong: the next one who asks looks again.
    func doubt() { state.withLock { $0.passed = nil } }

    /// Returns when commits of others may be applied.
    /// - Throws: ``FileError`` with `inputOutput` and the sentence of ``problem``, or what the store threw.
    func admitFollowing() async throws { try await admit(maximumAge: Self.followAge) }

    /// Returns when a commit may be made.
    func admitCommit() async throws {
        try await admit(maximumAge: Self.commitAge)
        guard !state.withLock({ $0.isCreateOnlyKnown }) else { return }
        try await container.verifyCreateOnly()
        state.withLock { $0.isCreateOnlyKnown = true }
    }

    private func admit(maximumAge: Duration) async throws {
        let now = environment.uptime()
        let passed = state.withLock { $0.passed }
        if let passed, now - passed < maximumAge { return }
        do {
            try replica.checkBacking()
            try await checkIdentity()
            try await checkLog()
            // What was looked at a moment ago was not put back from a backup since.
            if passed == nil { try await checkCommit() }
        } catch let error as FileError {
            state.withLock { state in
                state.passed = nil
                state.problem = error.detail
            }
            throw error
        } catch {
            // Not known to be right, and not known to be wrong: the store does not say.
            doubt()
            throw error
        }
        state.withLock { state in
            state.passed = now
            state.problem = nil
        }
    }

    private func checkIdentity() async throws {
        let found: ContainerIdentity
        do throws(StoreError) {
            found = try await Container.open(in: container.store).identity
        } catch {
            guard error.code == .notFound else { throw error }
            throw FileError(
                .inputOutput,
                "the store at \(location) holds no container any more; nothing is deleted or uploaded until it is put back"
            )
        }
        guard found.uuid == container.identity.uuid else {
            throw FileError(
                .inputOutput,
                "the store at \(location) now holds another container (\(found.id), \(found.uuid.uuidString.lowercased())); "
                    + "nothing is deleted or uploaded; put the right one back, or mount the other with its own --state")
        }
    }

    /// The log must reach the commit that is applied here; where it was trimmed, a snapshot or a later commit says that it did.
    private func checkLog() async throws {
        let applied = replica.applied
        guard applied > 0 else { return }
        let key = ChangeLog.key(applied)
        do throws(StoreError) {
            _ = try await container.store.byteCount(of: key)
            return
        } catch {
            guard error.code == .notFound else { throw error }
        }
        let later = try await container.store.list(prefix: ChangeLog.prefix, after: key, limit: 1)
        if !later.isEmpty { return }
        let digits = ChangeLog.key(applied - 1).dropFirst(ChangeLog.prefix.count)
        let snapshots = try await container.store.list(
            prefix: Self.snapshotPrefix, after: Self.snapshotPrefix + digits, limit: 1)
        if !snapshots.isEmpty { return }
        throw FileError(
            .inputOutput,
            "the store at \(location) has lost its log: commit \(applied), which is applied here, is not there; nothing is "
                + "deleted or uploaded until it is put back")
    }

    /// The commit that is applied here must be the one in the log: a store that was put back to an older state, and got new commits since,
    /// has another one of that number.
    private func checkCommit() async throws {
        guard let applied = try replica.appliedCommit() else { return }
        let found: Commit
        do throws(StoreError) {
            guard let read = try await ChangeLog(store: container.store).read(applied.number) else { return }
            found = read.commit
        } catch {
            // Trimmed, or damaged, which concerns only those who have to read it.
            guard [.notFound, .corrupt, .invalid].contains(error.code) else { throw error }
            return
        }
        guard found.nonce != applied.nonce else { return }
        throw FileError(
            .inputOutput,
            "the store at \(location) fell back to an older state and went on from there: its commit \(applied.number) is not the "
                + "one that is applied here; nothing is deleted or uploaded; mount it with a new --state")
    }

    private static let snapshotPrefix = "snapshot/"
}
