import Logging
import Model
import Replica
import Sync
import Synchronization

/// The eviction of what has not been used for as long as its rule says (``DirectoryRule/evictAfter``).
///
/// A pass through the local files is made in pieces, as there may be millions that another rule, or none, applies to.
extension CacheEvictor {
    /// How many files one piece of a pass looks at.
    static let unusedLookLimit = 4096

    /// Where the looks for unused files are.
    struct UnusedPass {
        /// In uptime.
        var began: Duration
        /// The last file that was looked at; `nil` when the pass has ended.
        var last: HeldFile?
        var evictedCount = 0
    }

    /// Whether, and since when, the times of last use are complete. While there are no limits nobody notes them: a file that
    /// is read every day would count as unused since it was downloaded.
    func noteWhetherUsesAreNoted() {
        do throws(FileError) {
            let since = try replica.read { try $0.usesNotedSince() }
            guard (since != nil) != notesUses else { return }
            let now = environment.now()
            try replica.change { try $0.setUsesNotedSince(notesUses ? now : nil) }
        } catch {
            // As while a new mount still shows the tree's preview. Until then nothing counts as unused.
            logger.info("noting later since when uses are noted", metadata: ["error": "\(error)"])
        }
    }

    /// - Returns: Whether the pass is to be continued at once.
    func evictUnused(_ eviction: Eviction) async throws(FileError) -> Bool {
        let shortest = try replica.read { try rules.extent(of: .evictAfter, $0).leastSet?.duration }
        guard let shortest, let pass = pass(shortest) else { return false }
        noteWhetherUsesAreNoted()
        try recordUses()
        // Before that, a use may not have been noted.
        guard let since = try replica.read({ try $0.usesNotedSince() }), since < time(before: shortest) else {
            return endUnusedPass()
        }
        let done = await round(eviction, .max, .unused(shortest, notedSince: since), after: pass.last)
        if let problem = done.round.problem {
            logger.warning(
                "failed to evict files that were not used for long; trying again later",
                metadata: ["error": "\(problem)"])
        }
        if done.round.evictedFileCount > 0 { try replica.makeDurable() }
        let count = pass.evictedCount + done.round.evictedFileCount
        guard let last = done.last, done.round.problem == nil else {
            if count > 0 { logger.info("evicted files that were not used for long", metadata: ["files": "\(count)"]) }
            return endUnusedPass()
        }
        unusedPass.withLock { $0 = UnusedPass(began: pass.began, last: last, evictedCount: count) }
        return true
    }

    /// - Returns: `false`: there is nothing to continue.
    private func endUnusedPass() -> Bool {
        unusedPass.withLock { pass in
            pass?.last = nil
            pass?.evictedCount = 0
        }
        return false
    }

    func useRules(for inode: InodeNumber) throws(FileError) -> UseRules {
        guard notesUses, let recorded = try replica.read({ try $0.used(inode) }) else { return UseRules() }
        let used = max(recorded, uses.time(of: inode) ?? recorded)
        let limits = try rulesInForce(for: inode)
        var result = UseRules()
        if let evictAfter = limits[.evictAfter]?.limit.duration,
            let since = try replica.read({ try $0.usesNotedSince() })
        {
            result.unusedAt = max(used, since).later(by: evictAfter)
        }
        if let keepRecent = limits[.keepRecent]?.limit.duration, used > time(before: keepRecent) {
            result.recentUntil = used.later(by: keepRecent)
        }
        return result
    }

    func rulesInForce(for inode: InodeNumber) throws(FileError) -> RuleLookup.Rules {
        try replica.read { rows in
            var lookup = try rules.lookup(rows)
            return try lookup.rules(of: inode)
        }
    }

    /// The pass that is under way, or a new one; `nil` while the next one is not due.
    private func pass(_ evictAfter: Duration) -> UnusedPass? {
        let now = environment.uptime()
        return unusedPass.withLock { pass in
            if let pass, pass.last != nil { return pass }
            if let pass, now - pass.began < CacheLimits.unusedSpacing(evictAfter) { return nil }
            pass = UnusedPass(began: now)
            return pass
        }
    }
}
