import Foundation
import Logging
import Model
import Remote
import Replica
import Synchronization

/// Checks that both ends are still what the index knows, before anything is uploaded or applied: absence is never taken
/// for deletion, and nothing is appended to a container that is no longer this one.
///
/// A check verifies that the backing directory exists, that `container.json` names this container (of an encrypted one,
/// both the object in plain text and the sealed one), and that its log still reaches the last applied commit. Once per
/// run it also verifies that the store keeps the promise of ``ObjectStore/create(_:_:)``. While a check fails, sync
/// stops, and every attempt checks again: sync resumes by itself once the problem is fixed.
package final class ContainerGuard: Sendable {
    /// The maximum age of the last successful check when a commit is made.
    static let commitAge = Duration.seconds(60)
    /// Its maximum age when the log is followed: two requests in this time, four where the container is encrypted,
    /// beside those for the log. A quota that was changed is noticed after this time, and a pause of ``PollInterval``, at
    /// the latest.
    static let followAge = Duration.seconds(300)
    /// The same while this device is told of commits, so that an idle one makes fewer than 50,000 requests a month.
    static let toldFollowAge = Duration.seconds(1200)

    /// The maximum age of the last look at the log's end in the store when the next commit is added. That a commit of
    /// this device was accepted is no look: a store that was restored to an older state accepts it too.
    package static let tailAge = Duration.seconds(10)
    /// How far the first check of a run looks back from the last applied commit, in commits: as many as one listing
    /// returns. An earlier run may have ended before it noticed a gap.
    static let lookBack = CommitNumber(ObjectListing.limit)

    private struct State {
        /// The instant of the last successful check; `nil` when there was none or something failed since.
        var passed: Duration?
        /// The instant at which the last applied commit was last found in the log as it was.
        var compared: Duration?
        var isCreateOnlyKnown = false
        /// Whether the quota is to be read again at the next check, however recent the last one is.
        var isQuotaOld = false
        var problem: String?
        /// What is wrong with the log behind the last applied commit.
        var logProblem: String?
        /// Another device has seen another history than this one.
        var fork: String?
        /// The commit up to which the log was complete at the last successful check.
        var whole: CommitNumber?
        /// The commit that was last in the log when it was checked; `nil` when something failed since.
        var end: CommitNumber?
        /// A snapshot that was read from end to end.
        var cover: CommitNumber?
        /// The newest commit that was read from the store or found in a listing, and when. The commits of this device
        /// behind it are looked for the next time.
        var tail: (number: CommitNumber, seen: Duration)?
    }

    private let state = Mutex(State())
    private let replica: Replica
    private let container: Container
    /// The location of the store, for people.
    private let location: String
    private let environment: EngineEnvironment
    private let activity: Activity
    private let logger: Logger

    init(_ context: SyncContext, container: Container) {
        replica = context.replica
        self.container = container
        location = context.location.remote
        environment = context.environment
        activity = context.activity
        logger = context.logger
    }

    /// The known problem, in a sentence; `nil` when there is none.
    package var problem: String? { state.withLock { $0.fork ?? $0.problem ?? $0.logProblem } }

    /// Another device has seen another history than this one: sync stops until the next mount.
    func noteFork(_ sentence: String) {
        let isNew = state.withLock { state in
            defer { state.fork = sentence }
            return state.fork == nil
        }
        if isNew { logger.error("\(sentence)") }
    }

    /// Something failed: the next caller checks again.
    func invalidate() {
        state.withLock { state in
            state.passed = nil
            state.compared = nil
            state.end = nil
            state.tail = nil
        }
    }

    /// The next caller reads `container.json` again, although nothing failed: its quota may have been changed.
    func rereadQuota() { state.withLock { $0.isQuotaOld = true } }

    // MARK: The log's end

    /// Whether a commit was last in the log at the last check.
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

    /// The store has accepted a commit of this device, on top of what was its end.
    func noteAppended(_ number: CommitNumber) { noteEnd(number) }

    /// The log cannot be followed or added to from the last applied commit.
    func stop(_ sentence: String) -> FileError {
        state.withLock { $0.logProblem = sentence }
        return FileError(.inputOutput, sentence)
    }

    /// Returns when commits of other devices may be applied.
    ///
    /// - Parameter isTold: Whether this device is told of commits, and so asks the store less often.
    /// - Throws: ``FileError`` with `inputOutput` and the sentence of ``problem``, or what the store threw.
    func admitFollowing(isTold: Bool = false) async throws {
        try await admit(maximumAge: isTold ? Self.toldFollowAge : Self.followAge)
    }

    /// Returns when a commit may be made.
    package func admitCommit() async throws {
        try await admit(maximumAge: Self.commitAge)
        try await checkTail()
        guard !state.withLock({ $0.isCreateOnlyKnown }) else { return }
        try await container.verifyCreateOnly()
        state.withLock { $0.isCreateOnlyKnown = true }
    }

    /// The log up to the next commit must have been seen a moment ago: a store that was restored to an older state gets
    /// no commit behind a gap, but for those of this device that follow within ``tailAge``, and no more of these.
    private func checkTail() async throws {
        let applied = replica.applied
        guard applied > 0 else { return }
        let now = environment.uptime()
        let tail = state.withLock { $0.tail }
        if let tail, now - tail.seen < Self.tailAge { return }
        let first = min(tail?.number ?? applied, applied)
        guard try await ChangeLog(store: container.store).look(at: first...applied, toNext: false).missing == nil else {
            invalidate()
            // A full check finds the problem, or a snapshot that covers the commit.
            return try await admit(maximumAge: .zero)
        }
        state.withLock { $0.tail = (applied, now) }
    }

    private func admit(maximumAge: Duration) async throws {
        if let fork = state.withLock({ $0.fork }) { throw FileError(.inputOutput, fork) }
        let now = environment.uptime()
        let (passed, compared, isQuotaOld) = state.withLock { state in
            defer { state.isQuotaOld = false }
            return (state.passed, state.compared, state.isQuotaOld)
        }
        let isRecent = passed.map { now - $0 < maximumAge } ?? false
        // While only following, another log shows by itself: its next commit does not fit.
        let limit = min(maximumAge, Self.commitAge)
        let isCompared =
            passed != nil && (maximumAge > Self.commitAge || compared.map { now - $0 < limit } ?? false)
        if isRecent, isCompared, !isQuotaOld { return }
        do {
            if !isRecent || isQuotaOld {
                try replica.checkBacking()
                try await checkIdentity()
            }
            if !isRecent { try await checkLog() }
            if !isCompared { try await checkCommit() }
        } catch let error as FileError {
            state.withLock { state in
                state.passed = nil
                state.compared = nil
                state.problem = error.detail
            }
            throw error
        } catch {
            // Neither confirmed nor refuted: the store did not answer.
            invalidate()
            throw error
        }
        state.withLock { state in
            if !isRecent { state.passed = now }
            if !isCompared { state.compared = now }
            state.problem = nil
        }
    }

    private func checkIdentity() async throws {
        let fault = try await descriptionFault()
        let found: ContainerIdentity
        do throws(StoreError) {
            found = try await Container.open(in: container.store).identity
        } catch {
            guard error.code == .notFound else { throw error }
            if let fault, fault.code == .corrupt { throw lack(fault) }
            throw FileError(
                .inputOutput,
                "the store at \(location) no longer holds a container; nothing is deleted or uploaded until it is "
                    + "restored")
        }
        if let fault { throw lack(fault) }
        guard found.uuid == container.identity.uuid else {
            throw FileError(
                .inputOutput,
                "the store at \(location) now holds another container (\(found.id), \(found.uuid.uuidString.lowercased())); "
                    + "nothing is deleted or uploaded; restore the right one, or mount the other with its own --state")
        }
        note(found.settings.quota)
    }

    /// What is wrong with the `container.json` of an encrypted container, by which others find it, or with its keyring:
    /// `notFound` or `corrupt`.
    private func descriptionFault() async throws(StoreError) -> StoreError? {
        do throws(StoreError) {
            try await container.store.verifyDescription()
            return nil
        } catch {
            guard error.code == .notFound || error.code == .corrupt else { throw error }
            return error
        }
    }

    private func lack(_ fault: StoreError) -> FileError {
        if fault.key.hasBytePrefix(ContainerRemains.keyrings) {
            return FileError(
                .inputOutput, "the store at \(location): \(fault.detail); nothing is deleted or uploaded until then")
        }
        return FileError(
            .inputOutput,
            "the store at \(location) lacks the container.json of this encrypted container: \(fault.detail); nothing "
                + "is deleted or uploaded until then")
    }

    private func note(_ quota: ContainerQuota?) {
        do throws(FileError) {
            guard try replica.setQuota(quota) else { return }
        } catch {
            // It holds until the next start, which begins with the older one.
            logger.warning("failed to record the quota of the container", metadata: ["error": "\(error)"])
        }
        logger.notice("the quota of the container has changed", metadata: ["quota": "\(quota?.description ?? "none")"])
        // What waited for room may fit now.
        activity.noteLocalChange()
    }

    /// The log must reach the last applied commit, without a gap since the last check; missing commits may be in a
    /// snapshot.
    private func checkLog() async throws {
        let applied = replica.applied
        guard applied > 0 else { return }
        let log = ChangeLog(store: container.store)
        let first = min(state.withLock { $0.whole } ?? applied - min(applied - 1, Self.lookBack - 1), applied)
        var found = try await log.look(at: first...applied)
        while let missing = found.missing, try await !log.contains(missing) {
            guard let covered = try await cover(of: missing) else {
                let later = found.next.map { ", although commit \($0) exists" } ?? ""
                throw FileError(
                    .inputOutput,
                    "the store at \(location) has lost its log: commit \(missing), which is applied here, is missing\(later); nothing is "
                        + "deleted or uploaded until it is restored")
            }
            guard covered < applied else { break }
            found = try await log.look(at: covered + 1...applied)
        }
        let now = environment.uptime()
        state.withLock { [found] state in
            state.whole = applied
            guard found.missing == nil else { return }
            state.tail = (applied, now)
            // The follower finds the commits behind it, or reports which are missing in between.
            state.end = found.next == nil ? applied : nil
        }
    }

    /// The newest snapshot that covers a missing commit. It must be one: anybody can put an object of such a name into a
    /// store.
    private func cover(of missing: CommitNumber) async throws -> CommitNumber? {
        let snapshots = SnapshotStore(store: container.store)
        for number in try await snapshots.numbers(after: missing - 1).suffix(Self.coverLimit).reversed() {
            if state.withLock({ $0.cover == number }) { return number }
            do throws(StoreError) {
                try await snapshots.fetch(number, to: nil)
                state.withLock { $0.cover = number }
                return number
            } catch {
                guard [.notFound, .corrupt, .invalid].contains(error.code) else { throw error }
            }
        }
        return nil
    }

    /// How many snapshots are tried, the newest first.
    private static let coverLimit = 4

    /// What was cut on its way looks damaged: what is seen twice is believed.
    private func readTwice(_ number: CommitNumber) async throws(StoreError) -> Commit? {
        let log = ChangeLog(store: container.store)
        do throws(StoreError) { return try await log.read(number)?.commit } catch {
            guard error.code == .corrupt else { throw error }
            return try await log.read(number)?.commit
        }
    }

    /// A commit that nobody else can read is as good as missing: other devices never get what comes after it, but by a
    /// snapshot.
    private func checkDamage(of number: CommitNumber, _ error: StoreError) async throws {
        guard try await cover(of: number) == nil else { return }
        throw FileError(
            .inputOutput,
            "the store at \(location) has lost the end of its log: commit \(number), which is applied here, is damaged "
                + "(\(error.detail)); nothing is deleted or uploaded until it is restored")
    }

    /// The last applied commit must be the one in the log: a store that was restored to an older state and got new
    /// commits since has another commit of that number.
    ///
    /// If a snapshot of an older writer does not name its commit, the log does.
    private func checkCommit() async throws {
        let number = replica.applied
        guard number > 0 else { return }
        let found: Commit
        do throws(StoreError) {
            guard let read = try await readTwice(number) else { return }
            found = read
        } catch {
            switch error.code {
            // Trimmed.
            case .notFound: return
            // Of a newer version.
            case .invalid: return
            case .corrupt: return try await checkDamage(of: number, error)
            case .preconditionFailed, .throttled, .unavailable, .denied, .full, .cancelled: throw error
            }
        }
        guard let applied = try replica.read({ try $0.appliedCommit() }) else {
            return try replica.change { try $0.learnApplied(number, nonce: found.nonce, time: found.time) }
        }
        // Another commit may have been applied meanwhile.
        guard applied.number == number, found.nonce != applied.nonce else { return }
        throw FileError(
            .inputOutput,
            "the store at \(location) was restored to an older state and has new commits since: its commit "
                + "\(applied.number) differs from the one applied here; nothing is deleted or uploaded; "
                + "mount it with a new --state")
    }
}
