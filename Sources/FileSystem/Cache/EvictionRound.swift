import Model
import Replica
import Sync

/// What a round of evictions is for, which decides what it leaves.
enum EvictionPurpose {
    /// A program or a download has no room: all that can go may.
    case fullDisk
    /// The cache is over its limits: what was used lately stays (``DirectoryRule/keepRecent``).
    case limits
    /// What was not used for as long as its rule says goes (``DirectoryRule/evictAfter``); the shortest of these times.
    case unused(Duration, notedSince: Timestamp)
}

extension CacheEvictor {
    /// A round, and the last file that it looked at; `nil` when there is nothing behind it.
    struct RoundResult {
        var round: CacheStatus.Round
        var last: HeldFile?
    }

    /// Evicts the least recently used files.
    ///
    /// - Parameters:
    ///   - excess: How many bytes to evict.
    ///   - start: The last file of the round before; `nil` begins with the least recently used one.
    func round(
        _ eviction: Eviction, _ excess: Int64, _ purpose: EvictionPurpose, after start: HeldFile? = nil
    ) async -> RoundResult {
        var eviction = eviction
        var result = RoundResult(
            round: CacheStatus.Round(time: environment.now().rfc3339, missingByteCount: excess), last: start)
        var refusals = 0
        var lookCount = 0
        do throws(FileError) {
            let end = try end(of: purpose)
            repeat {
                let before = result.last
                let batch = try replica.read { try $0.heldFiles(after: before, limit: Self.batchCount) }
                result.last = batch.last
                lookCount += batch.count
                let choice = EvictionPlan(
                    among: try candidates(batch, purpose, eviction), excess: result.round.missingByteCount,
                    countLimit: Self.roundLimit - result.round.evictedFileCount)
                for (obstacle, count) in choice.blockedBy {
                    result.round.blockedBy[obstacle.rawValue, default: 0] += count
                }
                for file in batch where choice.inodes.contains(file.inode) {
                    if let obstacle = try await evict(file.inode, &eviction) {
                        result.round.blockedBy[obstacle.rawValue, default: 0] += 1
                        refusals += 1
                    } else {
                        result.round.evictedFileCount += 1
                        result.round.evictedByteCount += file.byteCount
                        result.round.missingByteCount = max(0, result.round.missingByteCount - file.byteCount)
                    }
                    if Task.isCancelled || refusals == Self.refusalLimit {
                        result.last = nil
                        return result
                    }
                }
                // The rest of these are for the next round.
                if result.round.evictedFileCount == Self.roundLimit { result.last = before }
                // They are in the order of their use.
                if let end, let last = result.last, last.used >= end { result.last = nil }
                if case .unused = purpose, lookCount >= Self.unusedLookLimit { return result }
            } while result.last != nil && result.round.missingByteCount > 0
                && result.round.evictedFileCount < Self.roundLimit
        } catch {
            result.round.problem = error.description
        }
        return result
    }

    /// Files that were used at this time or later stay; `nil`: none do for that.
    private func end(of purpose: EvictionPurpose) throws(FileError) -> Timestamp? {
        switch purpose {
        case .fullDisk: nil
        case .limits:
            try replica.read { try rules.extent(of: .keepRecent, $0).least.duration }.map(time(before:))
        case .unused(let shortest, _): time(before: shortest)
        }
    }

    private func candidates(
        _ batch: [HeldFile], _ purpose: EvictionPurpose, _ eviction: Eviction
    ) throws(FileError) -> [EvictionPlan.Candidate] {
        let limits = try limits(of: batch, purpose)
        var candidates: [EvictionPlan.Candidate] = []
        for (index, file) in batch.enumerated() {
            var candidate = EvictionPlan.Candidate(inode: file.inode, byteCount: file.byteCount, used: file.used)
            switch purpose {
            case .unused(_, let since):
                guard let limit = limits[index], max(file.used, since) < time(before: limit) else { continue }
            case .limits:
                if let limit = limits[index], file.used >= time(before: limit) { candidate.obstacle = .recent }
            case .fullDisk: break
            }
            do throws(FileError) {
                if candidate.obstacle == nil { candidate.obstacle = try eviction.obstacleUnasked(file.inode) }
                candidates.append(candidate)
            } catch {
                // Unlinked in the meantime: there is nothing left to evict.
                guard error.code == .notFound else { throw error }
            }
        }
        return candidates
    }

    /// The limit of the rule that the purpose asks for, of each file.
    private func limits(of batch: [HeldFile], _ purpose: EvictionPurpose) throws(FileError) -> [Duration?] {
        let rule: DirectoryRule
        switch purpose {
        case .fullDisk: return []
        case .limits: rule = .keepRecent
        case .unused: rule = .evictAfter
        }
        return try replica.read { rows in
            var lookup = try rules.lookup(rows)
            return try batch.map { try lookup.rules(ofFile: $0.inode)[rule]?.limit.duration }
        }
    }

    /// - Returns: Why the file was not evicted; `nil` if it was.
    private func evict(_ inode: InodeNumber, _ eviction: inout Eviction) async throws(FileError) -> EvictionObstacle? {
        do throws(FileError) {
            try await eviction.evict(inode)
            return nil
        } catch {
            switch error.code {
            case .notFound: return nil
            case .busy: return try eviction.obstacleUnasked(inode) ?? .claimed
            case .corrupt: return .lost
            default: throw error
            }
        }
    }
}
