import Logging
package import Model
import Replica
import Sync

/// The rules of directories.
extension FileSystem {
    /// The rules in force for an item; for a directory, for what is in it.
    package func rules(for item: InodeNumber) throws(FileError) -> [DirectoryRule: RuleInForce] {
        try cache.evictor.rulesInForce(for: item)
    }

    package func useRules(for inode: InodeNumber) throws(FileError) -> UseRules {
        try cache.evictor.useRules(for: inode)
    }

    /// Gives a directory the limit that a text says.
    ///
    /// - Throws: ``FileError`` with `invalid` and what is accepted, `unsupported` for what is no directory.
    package func setRule(_ rule: DirectoryRule, _ text: String, of directory: InodeNumber) throws(FileError) {
        let limit: DirectoryRule.Limit
        do throws(FileError) {
            limit = try rule.limit(text)
        } catch {
            // The program that sets an attribute sees a number only.
            logger.notice("refused the rule of a directory", metadata: ["why": "\(error.detail)"])
            throw error
        }
        try setRule(rule, limit, of: directory)
    }

    /// Gives a directory a limit of its own, or takes it away (`nil`). Nothing below it is looked at: what follows from it
    /// happens in the background.
    ///
    /// - Throws: ``FileError`` with `unsupported` for what is no directory.
    package func setRule(
        _ rule: DirectoryRule, _ limit: DirectoryRule.Limit?, of directory: InodeNumber
    ) throws(FileError) {
        let rules = cache.rules
        try replica.change { change in
            var lookup = try rules.lookup(change.rows)
            let before = try lookup.smallFileLimit(in: directory)
            try change.setRule(rule, limit, of: directory)
            guard rule == .downloadSmall else { return }
            lookup = try rules.lookup(change.rows)
            if try lookup.smallFileLimit(in: directory) > before {
                try change.walkSmallFiles(below: directory, above: before)
            }
        }
        rules.noteChange()
        cache.evictor.noteRules()
        activity.noteProgress()
    }
}
