import Logging
import Model
import Remote
import Replica

/// Reads the log onwards: it has no gaps, and each commit is based on the very one before it.
extension LogSession {
    /// What the log has behind the last applied commit.
    enum Next {
        case commit(DecodedCommit)
        /// The commit is gone; a snapshot that covers it has been applied instead.
        case snapshot
        case nothing
    }

    func next() async throws -> Next {
        let number = replica.applied + 1
        do throws(StoreError) {
            if let read = try await log.read(number) { return .commit(read) }
        } catch {
            guard error.code == .notFound || error.remedy == .takeSnapshot else { throw error }
            if try await catchUpFromSnapshot() { return .snapshot }
            guard error.code == .notFound else { throw error }
            throw StoreError(
                .corrupt, key: ChangeLog.key(number),
                "it was trimmed, and there is no snapshot of this commit or a later one that can be read")
        }
        return try await isEnd(before: number) ? .nothing : try await readLate(number)
    }

    /// Handles a commit that appeared after the request, or is missing although later ones exist: the latter is damage,
    /// unless a snapshot covers it.
    private func readLate(_ number: CommitNumber) async throws -> Next {
        if let read = try await log.read(number) { return .commit(read) }
        if try await catchUpFromSnapshot() {
            logger.warning(
                "a commit is missing from the log; continuing from a snapshot", metadata: ["commit": "\(number)"])
            return .snapshot
        }
        throw containerGuard.stop(
            "commit \(number) is missing from the log, although later commits exist; sync is stopped until the object "
                + "\(ChangeLog.key(number)) is restored, from a backup or from the bucket's older versions; "
                + "dewpoint check lists what is missing")
    }

    /// Whether the log ends before a missing commit. This is checked once behind each commit, and again after any
    /// failure.
    private func isEnd(before number: CommitNumber) async throws -> Bool {
        if containerGuard.isEnd(number - 1) { return true }
        guard try await log.first(after: number - 1) == nil else { return false }
        containerGuard.noteEnd(number - 1)
        return true
    }

    /// A commit must be based on the very one that was applied last.
    func checkPredecessor(of commit: Commit) throws(FileError) {
        guard let previous = commit.previous, let applied = try replica.read({ try $0.appliedCommit() }),
            applied.nonce != previous
        else { return }
        throw containerGuard.stop(
            "commit \(commit.sequence) of the log is not based on the commit \(applied.number) that is applied here: "
                + "the store was restored to an older state, or lost a commit that was written again; sync is stopped; "
                + "restore the store's newer state, or, if dewpoint check finds that only this device differs, "
                + "mount it with a new --state"
        )
    }
}
