import Model
import Replica
import Sync
import Synchronization

/// The rules of a mount and of its directories; ``RuleLookup`` finds those in force for an item.
final class RuleBook: Sendable {
    /// The options of the mount.
    let mount: [DirectoryRule: DirectoryRule.Limit]
    let paths: [PathRules]
    private let replica: Replica
    private let evicts = Atomic(false)
    /// Raised when the rule of a directory was set.
    private let changes: Activity

    init(_ context: SyncContext, _ options: FileSystemOptions) {
        var mount: [DirectoryRule: DirectoryRule.Limit] = [:]
        mount[.evictAfter] = options.cacheLimits.evictAfter.map { .init($0) }
        mount[.keepRecent] = options.cacheLimits.keepRecent.map { .init($0) }
        mount[.downloadSmall] = options.smallFileLimit.map { .init(number: $0) }
        self.mount = mount
        paths = options.directoryRules
        replica = context.replica
        changes = Activity(environment: context.environment)
        noteChange()
    }

    func lookup(_ rows: Rows) throws -> RuleLookup { try RuleLookup(rows, mount: mount, paths: paths) }

    /// The same, as if the mount had no rules for paths.
    func lookupWithoutPaths(_ rows: Rows) throws -> RuleLookup { try RuleLookup(rows, mount: mount, paths: []) }

    /// How far the limits of a rule reach, with the mount's.
    func extent(of rule: DirectoryRule, _ rows: Rows) throws -> RuleExtent {
        var extent = extent(ofOptions: rule)
        guard let own = try rows.extent(of: rule) else { return extent }
        extent.least = min(extent.least, own.least)
        extent.leastSet = [extent.leastSet, own.leastSet].compactMap(\.self).min()
        extent.most = max(extent.most, own.most)
        return extent
    }

    private func extent(ofOptions rule: DirectoryRule) -> RuleExtent {
        let limits = [mount[rule] ?? .off] + paths.compactMap { $0.limits[rule] }
        return RuleExtent(
            least: limits.min() ?? .off, leastSet: limits.filter { $0 != .off }.min(), most: limits.max() ?? .off)
    }

    /// Whether files of a directory are evicted when they were not used for long.
    var evictsUnused: Bool { evicts.load(ordering: .relaxed) }

    /// A rule of a directory was set.
    func noteChange() {
        // A new device has no others before it has the tree.
        let known = try? replica.read { try extent(of: .evictAfter, $0) }
        evicts.store((known ?? extent(ofOptions: .evictAfter)).leastSet != nil, ordering: .relaxed)
        changes.noteLocalChange()
    }

    var changeCount: UInt64 { changes.localChanges }

    func waitForChange(since count: UInt64) async { await changes.waitForLocalChange(since: count, atMost: nil) }
}
