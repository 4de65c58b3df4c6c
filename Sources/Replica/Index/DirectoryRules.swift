import GRDB
package import Model

/// How far the limits of a rule reach that directories have of their own.
package struct RuleExtent: Hashable, Sendable {
    /// ``DirectoryRule/Limit/off`` when the rule is off in a directory.
    package var least: DirectoryRule.Limit
    /// `nil` when the rule is off in all of them.
    package var leastSet: DirectoryRule.Limit?
    package var most: DirectoryRule.Limit

    package init(least: DirectoryRule.Limit, leastSet: DirectoryRule.Limit?, most: DirectoryRule.Limit) {
        self.least = least
        self.leastSet = leastSet
        self.most = most
    }
}

/// The rules that directories have of their own; see ``DirectoryRule``. They are gone with the directory.
extension Rows {
    package func rules(of directory: InodeNumber) throws -> [DirectoryRule: DirectoryRule.Limit] {
        let limits = try all(Self.rulesByInode, directory.row) {
            (DirectoryRule(rawValue: $0[0] as String), DirectoryRule.Limit(number: $0[1]))
        }
        // A newer version may have had others.
        return Dictionary(uniqueKeysWithValues: limits.compactMap { rule, limit in rule.map { ($0, limit) } })
    }

    private static let rulesByInode = IndexStatement("SELECT rule, value FROM rules WHERE inode = ?")

    package func hasRules() throws -> Bool { try exists("SELECT 1 FROM rules LIMIT 1", []) }

    /// - Returns: `nil` when no directory has the rule.
    package func extent(of rule: DirectoryRule) throws -> RuleExtent? {
        try first(
            "SELECT min(value), min(nullif(value, 0)), max(value) FROM rules WHERE rule = ? HAVING count(*) > 0",
            [rule.rawValue]
        ) {
            RuleExtent(
                least: .init(number: $0[0]), leastSet: ($0[1] as Int64?).map { .init(number: $0) },
                most: .init(number: $0[2]))
        }
    }

    /// The directories in which a file has its names; of many, the first ones.
    package func parents(of number: InodeNumber, limit: Int) throws -> [InodeNumber] {
        try all(Self.parentsByInode, number.row, limit) { InodeNumber(row: $0[0]) }
    }

    /// The path of a directory from the root, which has an empty one.
    package func path(ofDirectory directory: InodeNumber) throws -> ItemPath {
        guard directory != .root else { return ItemPath("") }
        guard let entry = try firstEntryRow(of: directory) else { throw FileError(.notFound, "\(directory)") }
        return ItemPath(String(decoding: try path(of: entry.name, in: entry.parent), as: UTF8.self))
    }

    private static let parentsByInode = IndexStatement(
        "SELECT DISTINCT parent FROM entries WHERE inode = ? ORDER BY parent LIMIT ?")
}

extension ReplicaTransaction {
    /// Gives a directory a limit of its own, or takes it away (`nil`).
    ///
    /// - Throws: `unsupported` for what is no directory, `tooLarge` where too many have limits.
    package func setRule(
        _ rule: DirectoryRule, _ limit: DirectoryRule.Limit?, of directory: InodeNumber
    ) throws {
        guard try rows.attributes(of: directory).kind == .directory else {
            throw FileError(.unsupported, "\(rule.rawValue) is a rule for directories")
        }
        guard let limit else {
            return try rows.execute("DELETE FROM rules WHERE inode = ? AND rule = ?", [directory.row, rule.rawValue])
        }
        if try rows.rules(of: directory).isEmpty,
            try rows.count("SELECT count(DISTINCT inode) FROM rules") >= DirectoryRule.directoryLimit
        {
            throw FileError(
                .diskFull,
                "\(DirectoryRule.directoryLimit) directories have rules of their own, as many as there may be; set them on a "
                    + "directory above")
        }
        try rows.execute(
            "INSERT OR REPLACE INTO rules(inode, rule, value) VALUES(?, ?, ?)",
            [directory.row, rule.rawValue, limit.number])
    }
}
