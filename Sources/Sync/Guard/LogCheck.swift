import Foundation
import Model
import Remote
import Replica

/// Checks the container's log: no commit may be missing, each must be based on the very one before it, and the last
/// applied commit must be the one in the log.
struct LogCheck {
    /// How many commits at the log's end are read when not all are: as many as accumulate before a snapshot is due.
    static let commitLimit = UInt64(Snapshots.commitLimit)
    /// How many are read at a time.
    static let readWidth = UInt64(GarbageCollector.readWidth)

    let replica: Replica
    let store: any ObjectStore

    /// - Parameter readingAll: Whether all commits are read, not only the newest ones.
    /// - Returns: The problems, a sentence each.
    func run(readingAll: Bool) async throws(FileError) -> [String] {
        // Before the log is listed: it only grows.
        let (number, commit) = (replica.applied, try replica.read { try $0.appliedCommit() })
        do throws(StoreError) {
            let survey = try await ChangeLog(store: store).survey()
            let snapshot = try await SnapshotStore(store: store).numbers().last ?? 0
            return lacks(survey, snapshot: snapshot, applied: number)
                + (try await breaks(survey, applied: commit, readingAll: readingAll))
        } catch {
            throw error.fileError
        }
    }

    /// The missing commits. A snapshot covers the commits up to its own.
    private func lacks(_ survey: LogSurvey, snapshot: CommitNumber, applied: CommitNumber) -> [String] {
        var problems = survey.gaps.filter { $0.upperBound > snapshot }.map { gap in
            let missing =
                gap.count == 1 ? "commit \(gap.lowerBound) is" : "commits \(gap.lowerBound) to \(gap.upperBound) are"
            return "log: \(missing) missing, although commit \(gap.upperBound + 1) exists"
        }
        if survey.gapCount > survey.gaps.count { problems.append("log: \(survey.gapCount) gaps in all") }
        if survey.trimmed > snapshot {
            problems.append("log: commit \(survey.trimmed) was trimmed, but no snapshot covers it")
        }
        if max(survey.newest, snapshot) < applied {
            problems.append(
                "log: it ends at commit \(survey.newest), although commit \(applied) is applied here")
        }
        return problems
    }

    /// Where a commit is not based on the one before it, or cannot be read.
    private func breaks(
        _ survey: LogSurvey, applied: AppliedCommit?, readingAll: Bool
    ) async throws(StoreError) -> [String] {
        var problems: [String] = []
        var last: Link?
        var next = readingAll || survey.newest <= Self.commitLimit ? 1 : survey.newest - Self.commitLimit + 1
        next = max(next, survey.trimmed + 1)
        while next <= survey.newest {
            let numbers = next...min(survey.newest, next + Self.readWidth - 1)
            next = numbers.upperBound + 1
            for link in try await read(numbers) {
                if let fault = link.fault { problems.append("log: commit \(link.number) cannot be read: \(fault)") }
                if let previous = link.previous, let last, last.number + 1 == link.number, let nonce = last.nonce,
                    nonce != previous
                {
                    problems.append(
                        "log: commit \(link.number) is not based on the commit \(last.number) that is in the log"
                    )
                }
                if let applied, applied.number == link.number, let nonce = link.nonce, nonce != applied.nonce {
                    problems.append("log: commit \(link.number) differs from the one that is applied here")
                }
                last = link
            }
        }
        return problems
    }

    /// What a commit says about itself and its predecessor.
    private struct Link: Sendable {
        let number: CommitNumber
        var nonce: UUID?
        var previous: UUID?
        /// Why the commit could not be read.
        var fault: String?
    }

    /// - Returns: In the order of their numbers, without those that are missing.
    private func read(_ numbers: ClosedRange<CommitNumber>) async throws(StoreError) -> [Link] {
        let store = store
        let results = await withTaskGroup(of: Result<Link?, StoreError>.self) { group in
            for number in numbers { group.addTask { await Self.read(number, in: store) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        var links: [Link] = []
        for result in results {
            if let link = try result.get() { links.append(link) }
        }
        return links.sorted { $0.number < $1.number }
    }

    private static func read(_ number: CommitNumber, in store: any ObjectStore) async -> Result<Link?, StoreError> {
        do throws(StoreError) {
            guard let commit = try await ChangeLog(store: store).read(number)?.commit else { return .success(nil) }
            return .success(Link(number: number, nonce: commit.nonce, previous: commit.previous))
        } catch {
            switch error.code {
            case .notFound: return .success(nil)
            case .corrupt, .invalid: return .success(Link(number: number, fault: error.detail))
            case .preconditionFailed, .throttled, .unavailable, .denied, .full, .cancelled: return .failure(error)
            }
        }
    }
}
