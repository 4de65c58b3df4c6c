package import Model
import Replica

/// A limit that is in force, and where it comes from.
package struct RuleInForce: Hashable, Sendable {
    package enum Source: String, Hashable, Sendable, Codable {
        /// An attribute of a directory.
        case attribute
        /// The mount option `rules`, which the mounts file gives too.
        case path
        /// The mount option of that name.
        case mount
    }

    package var limit: DirectoryRule.Limit
    package var source: Source
    /// The directory that it is set for; the root for the mount's.
    package var directory: InodeNumber
}

/// Finds the rules in force for items: each directory is asked once. For one look at the index, since directories move.
struct RuleLookup {
    typealias Rules = [DirectoryRule: RuleInForce]

    /// How many directories are remembered at most.
    private static let knownLimit = 10_000
    /// No tree is deeper: a walk up that takes more steps is in a cycle.
    private static let depthLimit = 100_000
    /// How many directories a file with several names is looked for in.
    private static let nameLimit = 16

    private let rows: Rows
    /// By the options of the mount.
    private let paths: [InodeNumber: Rules]
    private let mount: Rules
    /// Whether all items have the mount's.
    private let isUniform: Bool
    private var known: [InodeNumber: Rules] = [:]

    init(_ rows: Rows, mount: [DirectoryRule: DirectoryRule.Limit], paths: [PathRules]) throws {
        self.rows = rows
        self.mount = mount.mapValues { RuleInForce(limit: $0, source: .mount, directory: .root) }
        var places: [InodeNumber: Rules] = [:]
        for rules in paths {
            guard let directory = try? rows.resolve(rules.path) else { continue }
            places[directory] = rules.limits.mapValues {
                RuleInForce(limit: $0, source: .path, directory: directory)
            }
        }
        self.paths = places
        isUniform = try places.isEmpty && !rows.hasRules()
    }

    /// The rules that a directory has of its own.
    func own(_ directory: InodeNumber) throws -> Rules {
        let attributes = try rows.rules(of: directory).mapValues {
            RuleInForce(limit: $0, source: .attribute, directory: directory)
        }
        return (paths[directory] ?? [:]).merging(attributes) { $1 }
    }

    /// The rules for what is in a directory.
    mutating func rules(in directory: InodeNumber) throws -> Rules {
        if isUniform { return mount }
        var way: [(directory: InodeNumber, own: Rules)] = []
        var rules = mount
        var current = directory
        while true {
            if let found = known[current] {
                rules = found
                break
            }
            way.append((current, try own(current)))
            if current == .root { break }
            guard way.count < Self.depthLimit else {
                throw FileError(.inputOutput, "the directories above \(directory) form a cycle")
            }
            current = try rows.parent(of: current)
        }
        for step in way.reversed() {
            rules.merge(step.own) { $1 }
            if known.count < Self.knownLimit { known[step.directory] = rules }
        }
        return rules
    }

    /// The rules for an item; for a directory, of what is in it. Of several names of a file, what keeps it local longest.
    mutating func rules(of item: InodeNumber) throws -> Rules {
        if isUniform { return mount }
        if try item == .root || rows.attributes(of: item).kind == .directory { return try rules(in: item) }
        return try rules(ofFile: item)
    }

    /// The same for a file.
    mutating func rules(ofFile file: InodeNumber) throws -> Rules {
        if isUniform { return mount }
        let parents = try rows.parents(of: file, limit: Self.nameLimit)
        guard let first = parents.first else { return mount }
        var kept = try rules(in: first)
        for parent in parents.dropFirst() {
            let other = try rules(in: parent)
            for rule in DirectoryRule.allCases { kept[rule] = rule.keepingLonger(kept[rule], other[rule]) }
        }
        return kept
    }
}

extension DirectoryRule {
    /// Of two limits for one file, the one with which it is local longer.
    fileprivate func keepingLonger(_ one: RuleInForce?, _ other: RuleInForce?) -> RuleInForce? {
        let (first, second) = (one?.limit ?? .off, other?.limit ?? .off)
        // Nothing is evicted where that is off.
        if self == .evictAfter, first == .off || second == .off { return first == .off ? one : other }
        return first < second ? other : one
    }
}
