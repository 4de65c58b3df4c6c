import Logging
import Model
import Replica
import Sync
import Synchronization

/// The eviction of what has not been used for ``CacheLimits/evictAfter``.
extension CacheEvictor {
    /// Whether, and since when, the times of last use are complete. While there are no limits nobody notes them: a file that
    /// is read every day would count as unused since it was downloaded.
    func noteWhetherUsesAreNoted() {
        do throws(FileError) {
            let since = try replica.read { try $0.usesNotedSince() }
            guard (since != nil) != limits.isSet else { return }
            let now = environment.now()
            try replica.change { try $0.setUsesNotedSince(limits.isSet ? now : nil) }
        } catch {
            // As while a new mount still shows the tree's preview. Until then nothing counts as unused.
            logger.info("noting later since when uses are noted", metadata: ["error": "\(error)"])
        }
    }

    func evictUnused(_ eviction: Eviction) async throws(FileError) {
        guard let evictAfter = limits.evictAfter, isUnusedCheckDue(evictAfter) else { return }
        noteWhetherUsesAreNoted()
        try recordUses()
        let end = time(before: evictAfter)
        // Before that, a use may not have been noted.
        guard let since = try replica.read({ try $0.usesNotedSince() }), since < end else { return }
        var count = 0
        var round: CacheStatus.Round
        repeat {
            round = await self.round(eviction, .max, usedBefore: end)
            count += round.evictedFileCount
        } while round.evictedFileCount == Self.roundLimit && !Task.isCancelled
        if let problem = round.problem {
            logger.warning(
                "failed to evict files that were not used for long; trying again later",
                metadata: ["error": "\(problem)"])
        }
        guard count > 0 else { return }
        try replica.makeDurable()
        logger.info("evicted files that were not used for long", metadata: ["files": "\(count)"])
    }

    func rules(for inode: InodeNumber) throws(FileError) -> UseRules {
        guard limits.isSet, let recorded = try replica.read({ try $0.used(inode) }) else { return UseRules() }
        let used = max(recorded, uses.time(of: inode) ?? recorded)
        var rules = UseRules()
        if let evictAfter = limits.evictAfter, let since = try replica.read({ try $0.usesNotedSince() }) {
            rules.unusedAt = max(used, since).later(by: evictAfter)
        }
        if let keepRecent = limits.keepRecent, used > time(before: keepRecent) {
            rules.recentUntil = used.later(by: keepRecent)
        }
        return rules
    }

    private func isUnusedCheckDue(_ evictAfter: Duration) -> Bool {
        let now = environment.uptime()
        return lastUnusedCheck.withLock { last in
            if let last, now - last < CacheLimits.unusedSpacing(evictAfter) { return false }
            last = now
            return true
        }
    }
}
