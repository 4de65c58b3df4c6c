import Logging
import Model
import Remote
import Replica

/// How the log goes on: it has no gaps, and each commit stands on the very one before it.
extension LogSession {
    /// What the log has behind the commit that is applied here.
    enum Next {
        case commit(DecodedCommit)
        /// The commit is gone; a snapshot that has what it did is applied by now.
        case snapshot
        case nothing
    }

    func next() async throws -> Next {
        let number = replica.applied + 1
        do throws(StoreError) {
            if let read = try await log.read(number) { return .commit(read) }
        } catch {
            guard error.code == .notFound else { throw error }
            if try await catchUpFromSnapshot() { return .snapshot }
            throw StoreError(
                .corrupt, key: ChangeLog.key(number),
                "it was trimmed, and there is no snapshot of this commit or a later one that can be read")
        }
        return try await isEnd(before: number) ? .nothing : try await readLate(number)
    }

    /// A commit that came after it was asked for, or is missing although later ones are there: that is damage, unless a snapshot has
    /// what it did.
    private func readLate(_ number: CommitNumber) async throws -> Next {
        if let read = try await log.read(number) { return .commit(read) }
        if try await catchUpFromSnapshot() {
            logger.warning(
                "a commit is missing from the log; continuing from a snapshot", metadata: ["commit": "\(number)"])
            return .snapshot
        }
        throw containerGuard.stop(
            "commit \(number) is missing from the log, although later ones are there; nothing is applied or uploaded until the object "
                + "\(ChangeLog.key(number)) is put back: restore it from a backup or from the bucket's older versions; "
                + "dewpoint check lists what is missing")
    }

    /// Whether the log ends before a commit that is not there. Behind each commit that is looked once, and again after any trouble.
    private func isEnd(before number: CommitNumber) async throws -> Bool {
        if containerGuard.isEnd(number - 1) { return true }
        guard try await log.first(after: number - 1) == nil else { return false }
        containerGuard.noteEnd(number - 1)
        return true
    }

    /// A commit must have been made on top of the very one that is applied here.
    func checkPredecessor(of commit: Commit) throws(FileError) {
        guard let previous = commit.previous, let applied = try replica.appliedCommit(), applied.nonce != previous
        else { return }
        throw containerGuard.stop(
            "commit \(commit.sequence) of the log was made on top of another commit \(applied.number) than the one that is applied here: "
                + "the store was put back to an older state, or lost a commit that was written again; nothing is applied or uploaded; "
                + "put the store's newer state back, or, if dewpoint check finds only this device to differ, mount it with a new --state"
        )
    }
}
