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
package final class ContainerGuard: Sendable {
    /// How old the last good look may be when a commit is made.
    static let commitAge = Duration.seconds(60)
    /// How old it may be when the log is followed: two requests in this time, beside those for the log.
    static let followAge = Duration.seconds(300)

    /// How long ago the newest commit may have been seen in the store when the next one is added.
    static let tailAge = Duration.seconds(10)

    private struct State {
        /// The moment of the last good look; `nil` when there was none or something went wrong since.
        var passed: Duration?
        var isCreateOnlyKnown = false
        var problem: String?
        /// What is wrong with the log behind what is applied here.
        var logProblem: String?
        /// The commit up to which the log was whole at the last good look.
        var whole: CommitNumber?
        /// The commit that nothing was behind when it was looked; `nil` when something went wrong since.
        var end: CommitNumber?
        /// The newest commit that was seen in the store, and when.
        var tail: (number: CommitNumber, seen: Duration)?
    }

    private let state = Mutex(State())
    private let replica: Replica
    private let container: Container
    /// Where the store is, for people.
    private let location: String
    private let environment: EngineEnvironment

    init(_ context: SyncContext, container: Container) {
        replica = context.replica
        self.container = container
        location = context.location.remote
        environment = context.environment
    }

    /// What is wrong, in a sentence; `nil` when nothing is known to be.
    package var problem: String? { state.withLock { $0.problem ?? $0.logProblem } }

    /// Something went wrong: the next one who asks looks again.
    func invalidate() {
        state.withLock { state in
            state.passed = nil
            state.end = nil
            state.tail = nil
        }
    }

    // MARK: The log's end

    /// Whether the log is known to have ended with a commit, when it was last looked.
    func isEnd(_ number: CommitNumber) -> Bool { state.withLock { $0.end == number } }

    /// There is nothing behind a commit.
    func noteEnd(_ number: CommitNumber) {
        state.withLock { state in
            state.end = number
            state.logProblem = nil
        }
    }

    /// A commit was read from the log and applied.
    func noteApplied(_ number: CommitNumber) {
        let now = environment.uptime()
        state.withLock { state in
            state.tail = (number, now)
            state.logProblem = nil
        }
    }

    /// A commit of this device is in the log, on top of what was its end.
    func noteAppended(_ number: CommitNumber) {
        noteApplied(number)
        noteEnd(number)
    }

    /// The log is not one that can be followed, or added to, from what is applied here.
    func stop(_ sentence: String) -> FileError {
        state.withLock { $0.logProblem = sentence }
        return FileError(.inputOutput, sentence)
    }

    /// Returns when commits of others may be applied.
    /// - Throws: ``FileError`` with `inputOutput` and the sentence of ``problem``, or what the store threw.
    func admitFollowing() async throws { try await admit(maximumAge: Self.followAge) }

    /// Returns when a commit may be made.
    package func admitCommit() async throws {
        try await admit(maximumAge: Self.commitAge)
        try await checkTail()
        guard !state.withLock({ $0.isCreateOnlyKnown }) else { return }
        try await container.verifyCreateOnly()
        state.withLock { $0.isCreateOnlyKnown = true }
    }

    /// The commit that the next one is made on top of must have been there a moment ago: a store that is put back to an older state gets
    /// no commit behind a gap.
    private func checkTail() async throws {
        let applied = replica.applied
        guard applied > 0 else { return }
        let now = environment.uptime()
        if let tail = state.withLock({ $0.tail }), tail.number == applied, now - tail.seen < Self.tailAge { return }
        guard try await ChangeLog(store: container.store).contains(applied) else {
            invalidate()
            // A full look says what is wrong; or that a snapshot stands in for the commit.
            return try await admit(maximumAge: .zero)
        }
        state.withLock { $0.tail = (applied, now) }
    }

    private func admit(maximumAge: Duration) async throws {
        let now = environment.uptime()
        let passed = state.withLock { $0.passed }
        if let passed, now - passed < maximumAge { return }
        do {
            try replica.checkBacking()
            try await checkIdentity()
            try await checkLog()
            // What is only followed tells by itself when it is another log: its next commit does not fit.
            if passed == nil || maximumAge <= Self.commitAge { try await checkCommit() }
        } catch let error as FileError {
            state.withLock { state in
                state.passed = nil
                state.problem = error.detail
            }
            throw error
        } catch {
            // Not known to be right, and not known to be wrong: the store does not say.
            invalidate()
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

    /// The log must reach the commit that is applied here, without a gap since the last look; what is missing may be in a snapshot.
    private func checkLog() async throws {
        let applied = replica.applied
        guard applied > 0 else { return }
        let log = ChangeLog(store: container.store)
        let first = min(max(state.withLock { $0.whole } ?? applied, 1), applied)
        let found = try await log.look(at: first...applied)
        if let missing = found.missing, try await !log.contains(missing),
            try await SnapshotStore(store: container.store).numbers(after: missing - 1).isEmpty
        {
            let later = found.next.map { ", although commit \($0) is" } ?? ""
            throw FileError(
                .inputOutput,
                "the store at \(location) has lost its log: commit \(missing), which is applied here, is not there\(later); nothing is "
                    + "deleted or uploaded until it is put back")
        }
        let now = environment.uptime()
        state.withLock { state in
            state.whole = applied
            guard found.missing == nil else { return }
            state.tail = (applied, now)
            // What is behind it, the follower finds; or it says what is missing in between.
            state.end = found.next == nil ? applied : nil
        }
    }

    /// The commit that is applied here must be the one in the log: a store that was put back to an older state, and got new commits since,
    /// has another one of that number.
    ///
    /// Where a snapshot of an older writer did not say which one it stands at, the log does.
    private func checkCommit() async throws {
        let number = replica.applied
        guard number > 0 else { return }
        let found: Commit
        do throws(StoreError) {
            guard let read = try await ChangeLog(store: container.store).read(number) else { return }
            found = read.commit
        } catch {
            // Trimmed, or damaged, which concerns only those who have to read it.
            guard [.notFound, .corrupt, .invalid].contains(error.code) else { throw error }
            return
        }
        guard let applied = try replica.appliedCommit() else {
            return try replica.learnApplied(number, nonce: found.nonce)
        }
        // Another commit may have been applied meanwhile.
        guard applied.number == number, found.nonce != applied.nonce else { return }
        throw FileError(
            .inputOutput,
            "the store at \(location) fell back to an older state and went on from there: its commit \(applied.number) is not the "
                + "one that is applied here; nothing is deleted or uploaded; mount it with a new --state")
    }
}
